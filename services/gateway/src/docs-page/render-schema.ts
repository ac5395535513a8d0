import type { JsonSchema, OpenApiDocument, Reference } from '../openapi/open-api.ts'
import { type Html, html, nothing } from './html.ts'
import { renderInline } from './render-text.ts'

/** A named schema with its members in a table. */
export function renderSchema(name: string, schema: JsonSchema): Html {
  return html`<section class="schema" id="${schemaAnchor(name)}"><h3>${name}</h3>${renderMembers(schema)}</section>`
}

/** A table of an object's members; in words where it is no object. */
export function renderMembers(schema: JsonSchema): Html {
  const members = Object.entries(schema.properties ?? {})
  if (members.length === 0) return html`<p>${typeInWords(schema)}</p>`
  const required = new Set(schema.required)
  const rows = members.map(([name, member]) => renderMember(name, member as JsonSchema, required.has(name)))
  return html`<table><tbody>${rows}</tbody></table>`
}

/** The schema that a reference within the document names; itself where it is none. */
export function resolveSchema(document: OpenApiDocument, schema: JsonSchema | Reference): JsonSchema {
  const name = schema.$ref && nameOf(schema.$ref)
  return (name && document.components.schemas[name]) || (schema as JsonSchema)
}

export function renderMember(name: string, schema: JsonSchema, isRequired: boolean): Html {
  const description = schema.description ?? ''
  return html`<tr><th scope="row"><code>${name}</code>${isRequired ? html` <b>required</b>` : nothing}</th>
<td><span class="type">${typeInWords(schema)}</span> ${renderInline(description)}</td></tr>`
}

function typeInWords(schema: JsonSchema): Html {
  if (schema.$ref) return html`<a href="#${schemaAnchor(nameOf(schema.$ref))}">${nameOf(schema.$ref)}</a>`
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`
  if (schema.enum) return either(schema.enum.map((value) => html`<code>${JSON.stringify(value)}</code>`))
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives) return either(alternatives.map((each) => typeInWords(each as JsonSchema)))
  if (schema.type === 'array') return html`array of ${typeInWords(asSchema(schema.items))}${boundsInWords(schema)}`
  if (schema.type === 'object' && typeof schema.additionalProperties === 'object')
    return html`object of ${typeInWords(schema.additionalProperties as JsonSchema)}`
  if (schema.type === 'object' && Object.keys(schema.properties ?? {}).length > 0)
    return html`object: ${renderMembers(schema)}`
  const types = [schema.type ?? 'anything'].flat()
  return html`${types.join(' or ')}${schema.format ? ` (${schema.format})` : ''}${boundsInWords(schema)}`
}

function boundsInWords({ minLength, maxLength, minimum, maximum, maxItems }: JsonSchema): string {
  if (maxItems !== undefined) return `, at most ${maxItems}`
  if (maxLength !== undefined) return `, ${minLength ?? 0} to ${maxLength} characters`
  return minimum !== undefined && maximum !== undefined ? `, ${minimum} to ${maximum}` : ''
}

function either(words: readonly Html[]): Html {
  return html`${words.map((word, index) => html`${index > 0 ? ' or ' : ''}${word}`)}`
}

function asSchema(items: JsonSchema['items']): JsonSchema {
  return typeof items === 'object' && !Array.isArray(items) ? (items as JsonSchema) : {}
}

function schemaAnchor(name: string): string {
  return `schema-${name}`
}

function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}
