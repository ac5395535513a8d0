import { STATUS_CODES } from 'node:http'
import type { MediaType, OpenApiDocument, OperationObject, ResponseObject } from '../openapi/open-api.ts'
import { type Html, html, nothing } from './html.ts'
import { renderMember, renderMembers, resolveSchema } from './render-schema.ts'
import { renderInline, renderText } from './render-text.ts'

export interface PlacedOperation {
  readonly method: string
  readonly path: string
  readonly operation: OperationObject
}

/** One operation: what to send, and everything that may come back. */
export function renderOperation(document: OpenApiDocument, { method, path, operation }: PlacedOperation): Html {
  const { operationId, summary, description, parameters = [], requestBody, responses, security } = operation
  return html`<article id="${operationId}">
<h3><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code></h3>
<p class="summary">${summary}${keyOf(security)}</p>
${renderText(description)}
${parameters.length === 0 ? nothing : html`<h4>Parameters</h4><table><tbody>${parameters.map(renderParameter)}</tbody></table>`}
${requestBody ? html`<h4>Body</h4>${Object.values(requestBody.content).map((body) => renderBody(document, body))}` : nothing}
<h4>Responses</h4>
${Object.entries(responses).map(([status, response]) => renderResponse(document, status, response))}
</article>`
}

function keyOf(security: OperationObject['security']): Html {
  const names = security.flatMap((each) => Object.keys(each))
  if (names.length === 0) return html` <span class="key">no key</span>`
  return html` <span class="key">${names.includes('AdminKey') ? 'admin key' : 'publishable key'}</span>`
}

function renderParameter({
  name,
  in: place,
  required,
  description,
  schema,
}: NonNullable<OperationObject['parameters']>[number]): Html {
  return renderMember(name, { ...schema, description: `In the ${place}. ${description}` }, required)
}

function renderBody(document: OpenApiDocument, body: MediaType): Html {
  return html`${renderMembers(resolveSchema(document, body.schema))}${renderExamples(body)}`
}

function renderResponse(document: OpenApiDocument, status: string, response: ResponseObject): Html {
  const isSuccess = status.startsWith('2')
  const bodies = Object.values(response.content ?? {})
  const headers = Object.keys(response.headers)
  const members = isSuccess ? bodies.map((body) => renderMembers(resolveSchema(document, body.schema))) : []
  return html`<details${isSuccess ? html` open` : nothing}><summary><span class="status s${status.slice(0, 1)}">${status}</span>
${STATUS_CODES[status] ?? ''} <span class="means">${renderInline(response.description)}</span></summary>
<p class="headers">Headers: ${headers.map((name, index) => html`${index > 0 ? ', ' : ''}<a href="#header-${name}"><code>${name}</code></a>`)}</p>
${members}${bodies.map(isSuccess ? renderExamples : renderMessages)}</details>`
}

function renderExamples({ examples = {} }: MediaType): Html {
  return html`${Object.values(examples).map(
    ({ summary, value }) => html`<figure><figcaption>${renderInline(summary)}</figcaption>
<pre><code>${JSON.stringify(value, null, 2)}</code></pre></figure>`,
  )}`
}

/** Errors have one form: a list of when and what is easier to read than as many bodies. */
function renderMessages({ examples = {} }: MediaType): Html {
  const rows = Object.values(examples).map(
    ({ summary, value }) =>
      html`<tr><td>${renderInline(summary)}</td><td><code>${JSON.stringify(value)}</code></td></tr>`,
  )
  return html`<table class="messages"><tbody>${rows}</tbody></table>`
}
