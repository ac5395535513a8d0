/**
 * Generates src/api-types.ts, the types of requests and answers, from docs/reference/openapi.json. `npx -y pnpm openapi`
 * runs it, too.
 */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import openapiTypescript, { astToString } from 'openapi-typescript'
import { isRetryable } from '../src/retry.ts'

const DOCUMENT = path.resolve(import.meta.dirname, '../../../docs/reference/openapi.json')
const API_TYPES = path.join(import.meta.dirname, '../src/api-types.ts')
/** The alternative to an empty object, which only PHP needs. */
const EMPTY_ARRAY = /,\{(?:"maxItems":0|"type":"array"|"items":\{"not":\{\}\}|,)+\}/g
const HEADER = '// Written by scripts/write-api-types.ts from docs/reference/openapi.json. Do not edit it.\n\n'

/** Schemas of requests and answers; schemas that they refer to are added. */
const SCHEMAS = ['IdentifyItem', 'IdentifyUserAnswer', 'TrackItem', 'TrackEventAnswer', 'UserAnswer', 'ErrorBody']
/** Operations whose refusal statuses become one schema. */
const OPERATIONS = ['identifyUser', 'trackEvent', 'recordBatch', 'findUser']

interface Document {
  readonly openapi: string
  readonly info: object
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}
interface Operation {
  readonly operationId: string
  readonly responses: object
}

/** Resolves to the text of src/api-types.ts. */
export async function apiTypes(): Promise<string> {
  const document = JSON.parse(await readFile(DOCUMENT, 'utf8')) as Document
  const { openapi, info, components } = document
  const schemas = {
    ...withReferred(SCHEMAS, components.schemas),
    RefusalStatus: { type: 'integer', enum: refusalStatuses(document) },
  }
  const ast = await openapiTypescript(JSON.stringify({ openapi, info, paths: {}, components: { schemas } }), {
    immutable: true,
    rootTypes: true,
    rootTypesNoSchemaPrefix: true,
  })
  return HEADER + astToString(ast)
}

function withReferred(names: readonly string[], schemas: Document['components']['schemas']): Record<string, object> {
  const found = new Map<string, object>()
  const add = (name: string): void => {
    const schema = schemas[name]
    if (!schema) throw new Error(`docs/reference/openapi.json has no schema ${name}`)
    if (found.has(name)) return
    // TypeScript does not allow a recursive array type here, so it becomes unknown[].
    const text = JSON.stringify(schema)
      .replaceAll(`"items":{"$ref":"#/components/schemas/${name}"}`, '"items":{}')
      .replaceAll(EMPTY_ARRAY, '')
    found.set(name, JSON.parse(text) as object)
    for (const [, other = ''] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) add(other)
  }
  for (const name of names) add(name)
  return Object.fromEntries(found)
}

/** Returns all statuses of the operations that are neither successes nor retried. */
function refusalStatuses({ paths }: Document): readonly number[] {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const statuses = operations.flatMap(({ operationId, responses }) =>
    OPERATIONS.includes(operationId) ? Object.keys(responses).map(Number) : [],
  )
  return [...new Set(statuses)].filter((status) => status >= 400 && !isRetryable(status)).toSorted((a, b) => a - b)
}

if (import.meta.main) await writeFile(API_TYPES, await apiTypes())
