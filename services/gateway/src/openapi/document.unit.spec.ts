import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { ErrorBody, ROUTES, type RouteSignature, WEBHOOK_PAYLOADS, WebhookType } from '@nextvisit/contracts'
import {
  isJsonObject,
  type JsonObject,
  parseBatch,
  parseBatchItem,
  parseErasureBody,
  parseIdentifyBody,
  parseReplayBody,
  parseRetryBody,
  parseSegmentComMessage,
  parseTrackBody,
} from '@nextvisit/domain'
import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { SCHEMAS } from './components.ts'
import { parseContent } from './operations.ts'
import { createOpenApiDocument, openApiText } from './document.ts'
import { REFUSALS } from '../refusals/refusals.ts'

const COMMITTED = path.resolve(import.meta.dirname, '../../../../docs/reference/openapi.json')

/** Members of the document that this spec reads. The library's type leaves most of them open. */
interface Document {
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>
  readonly webhooks: Readonly<Record<string, { readonly post?: OperationObject }>>
  readonly components: Readonly<Record<'schemas' | 'headers' | 'securitySchemes', object>>
}
interface OperationObject {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly security: readonly object[]
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required?: boolean }[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, ResponseObject>>
}
interface ResponseObject {
  readonly headers: object
  readonly content?: Content
}
type Content = Readonly<Record<string, MediaType>>
interface MediaType {
  readonly schema: { readonly $ref?: string }
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
}

const NOW_MS = Date.parse('2026-11-02T10:00:00Z')
const CONTENT = await readFile(path.join(import.meta.dirname, 'operations.yaml'), 'utf8')
const document = createOpenApiDocument() as unknown as Document
const operations = Object.entries(document.paths).flatMap(([where, item]) =>
  Object.entries(item).map(([method, operation]) => ({ name: `${method} ${where}`, path: where, operation })),
)
const responses = operations.flatMap(({ name, operation }) =>
  Object.entries(operation.responses).map(([status, response]) => ({ name: `${name} ${status}`, status, response })),
)
const jsonBodies = [
  ...operations.map(({ name, operation }) => ({ name, content: operation.requestBody?.content })),
  ...responses.map(({ name, response: { content } }) => ({ name, content })),
].flatMap(({ name, content }) => Object.values(content ?? {}).map((body) => ({ name, body })))

/** Returns every `$ref` in the document. */
function referencesIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) =>
    name === '$ref' && typeof member === 'string' ? [member] : referencesIn(member),
  )
}

function lookUp(reference: string): unknown {
  return reference
    .slice('#/'.length)
    .split('/')
    .reduce<unknown>((found, step) => (isJsonObject(found) ? found[step] : undefined), document)
}

function schemaOf({ schema }: MediaType): z.ZodType | undefined {
  const name = schema.$ref?.split('/').at(-1)
  return name ? SCHEMAS[name] : undefined
}

/** `noRoute` belongs to no operation; `/readyz` has its own examples of `notReady`. */
const OF_NO_OPERATION = ['noRoute', 'notReady']

it('each rule of REFUSALS is documented at some operation', () => {
  const named = new Set(jsonBodies.flatMap(({ body }) => Object.keys(body.examples ?? {})))
  const unnamed = Object.keys(REFUSALS).filter((rule) => !named.has(rule))
  expect(unnamed.toSorted()).toEqual(OF_NO_OPERATION)
})

describe('docs/reference/openapi.json', () => {
  it('is current (to update it: npx -y pnpm openapi)', async () => {
    expect(await readFile(COMMITTED, 'utf8')).toBe(openApiText())
  })
})

describe('the OpenAPI document', () => {
  it('has every row of the route table', () => {
    const documented = operations.map(({ name, operation }) => `${operation.operationId}: ${name}`)
    const rows = Object.entries(ROUTES).map(([id, { method, pattern }]) => `${id}: ${method.toLowerCase()} ${pattern}`)
    expect(documented).toEqual(expect.arrayContaining(rows))
  })

  it('has every component that it refers to, and no other', () => {
    const references = [...new Set(referencesIn(document))]
    expect(references.filter((reference) => lookUp(reference) === undefined)).toEqual([])
    const { schemas, headers } = document.components
    const kept = Object.entries({ schemas, headers }).flatMap(([kind, components]) =>
      Object.keys(components).map((name) => `#/components/${kind}/${name}`),
    )
    expect(references.toSorted()).toEqual(kept.toSorted())
  })

  it('names each operation once, under tags and security schemes that it declares', () => {
    const ids = operations.map(({ operation }) => operation.operationId)
    expect(ids).toEqual([...new Set(ids)])
    const used = operations.flatMap(({ operation }) => operation.tags)
    expect(new Set(used)).toEqual(new Set(document.tags.map(({ name }) => name)))
    const schemes = operations.flatMap(({ operation }) => operation.security.flatMap(Object.keys))
    expect(new Set(schemes)).toEqual(new Set(Object.keys(document.components.securitySchemes)))
  })

  it('requires a key on every route of /v2, except for preflights', () => {
    const keyed = operations.filter(({ operation }) => operation.security.length > 0).map(({ name }) => name)
    const ofTable = Object.values(ROUTES).map(({ method, pattern }) => `${method.toLowerCase()} ${pattern}`)
    expect(keyed.toSorted()).toEqual(ofTable.toSorted())
  })

  it('declares the parameters of each path', () => {
    const inPaths = operations.map(({ path: where, operation: { parameters = [] } }) => ({
      stand: where.match(/\{\w+\}/g) ?? [],
      declared: parameters.filter((each) => each.in === 'path' && each.required).map(({ name }) => `{${name}}`),
    }))
    expect(inPaths.map(({ declared }) => declared)).toEqual(inPaths.map(({ stand }) => stand))
  })

  it('allows an Idempotency-Key on every route that records, except on Segment’s, whose messages have ids', () => {
    const names = operations
      .filter(({ operation }) => operation.requestBody && !takesNoKey(operation))
      .map(({ operation }) => operation.parameters)
    const key = expect.objectContaining({ name: 'Idempotency-Key', in: 'header' })
    expect(names).toEqual(names.map(() => expect.arrayContaining([key])))
  })

  it('lists for a route that takes many items only the refusals of the whole request', () => {
    const routes = Object.values<RouteSignature>(ROUTES).filter(({ takesMany }) => takesMany)
    const documented = routes.flatMap(({ pattern }) =>
      Object.values(document.paths[pattern]?.['post']?.responses ?? {})
        .flatMap(({ content = {} }) => Object.values(content).flatMap(({ examples = {} }) => Object.keys(examples)))
        .map((refusal) => `${pattern}: ${refusal}`),
    )
    const ofItems =
      /: (?:tooDeep|notStorable|stillRunning|keyOfAnother)$|admin.batch: notRecorded$|^.v1.*: idempotencyKey$/
    expect(documented).toContain('/v2/admin/batch: items')
    expect(documented.filter((each) => ofItems.test(each))).toEqual([])
  })

  it('has X-Request-Id on every response, Allow on 405, Retry-After on 429 and 503', () => {
    const carrying = (header: string) => responses.filter(({ response }) => header in response.headers)
    expect(carrying('X-Request-Id')).toEqual(responses)
    expect(carrying('Allow')).toEqual(responses.filter(({ status }) => status === '405'))
    expect(carrying('Retry-After')).toEqual(responses.filter(({ status }) => status === '429' || status === '503'))
  })

  it('has valid examples of every body that has a schema of its own', () => {
    const faults = jsonBodies.filter(({ body }) => {
      const values = Object.values(body.examples ?? {}).map(({ value }) => value)
      const schema = schemaOf(body)
      return schema && (values.length === 0 || !values.every((value) => schema.safeParse(value).success))
    })
    expect(faults.map(({ name }) => name)).toEqual([])
  })

  it('has the request of each type of webhook, with a valid example', () => {
    expect(Object.keys(document.webhooks)).toEqual(WebhookType.options)
    for (const [type, { post }] of Object.entries(document.webhooks)) {
      const { schema, examples = {} } = post?.requestBody?.content['application/json'] ?? { schema: {} }
      const payload = WEBHOOK_PAYLOADS[type as WebhookType]
      expect(SCHEMAS[schema.$ref?.split('/').at(-1) ?? '']).toBe(payload)
      expect(payload.parse(examples[type]?.value)).toMatchObject({ type })
      expect(post?.parameters?.map(({ name }) => name)).toEqual([
        'webhook-id',
        'webhook-timestamp',
        'webhook-signature',
      ])
    }
  })

  it('has errors with the status of their response', () => {
    const statuses = responses
      .filter(({ response }) => isError(response))
      .flatMap(({ status, response }) => examplesOf(response).map((value) => [ErrorBody.parse(value).status, status]))
    expect(statuses.filter(([own, status]) => String(own) !== status)).toEqual([])
  })

  it('has example bodies that the gateway accepts', () => {
    const outcomes = operations.flatMap(({ operation: { requestBody } }) =>
      Object.values(requestBody?.content ?? {}).flatMap(({ schema, examples = {} }) =>
        Object.values(examples).flatMap(({ value }) => outcomesOf(schema.$ref, isJsonObject(value) ? value : {})),
      ),
    )
    expect(outcomes).toEqual(outcomes.map(() => 'ok'))
  })
})

describe('operations.yaml', () => {
  it('joins the lines of a paragraph or list item, and keeps paragraphs and items apart', () => {
    const wrapped = `introduction: |\n  One\n  line.\n\n  - An\n    item.\n  - Another.\n\ntags:`
    const text = CONTENT.replace(/^introduction:[^]*?^tags:/m, wrapped)
    expect(parseContent(text).introduction).toBe('One line.\n\n- An item.\n- Another.')
  })

  it.each([
    ['which operation is missing', '\n  getUsage:', '\n  getUsages:', 'operations.getUsage'],
    ['which operation no route has', '\n  getUsage:', '\n  getUsages:', 'Unrecognized key: "getUsages"'],
    ['which refusal does not exist', ', newEvent]', ', newEvents]', 'There is no refusal "newEvents"'],
    ['where that stands', ', newEvent]', ', newEvents]', 'at operations.trackSdkEvent.refusals'],
    [
      'which refusal lacks its member',
      '- { rule: operator, member: userAttributes.$push }',
      '- operator',
      'needs a member',
    ],
    [
      'where a schema does not exist',
      'schema: UsageOverview',
      'schema: Usage',
      'operations.getUsage.answer.body.schema',
    ],
    ['which parameter has no text', '\n  limit: Maximum number of entries.', '', 'at parameters.limit'],
  ])('is reported as invalid: %s', (_what, text, replacement, message) => {
    expect(CONTENT).toContain(text)
    expect(() => parseContent(CONTENT.replace(text, replacement))).toThrow(message)
  })
})

/** Segment's messages have ids, and commands record nothing. */
function takesNoKey({ tags }: OperationObject): boolean {
  return tags.includes('Segment') || tags.includes('Webhooks')
}

/** Parses a body, or each item of a batch. */
function outcomesOf(reference: string | undefined, body: JsonObject): readonly string[] {
  if (reference?.endsWith('/ErasureBody')) return [parseErasureBody(body).outcome]
  if (reference?.endsWith('/WebhookReplayBody')) return [parseReplayBody(body, NOW_MS).outcome]
  if (reference?.endsWith('/WebhookRetryBody')) return [parseRetryBody(body, NOW_MS).outcome]
  const isTracked = reference?.endsWith('/TrackEventBody')
  if (reference?.includes('/Segment')) return segmentOutcomesOf(body)
  if (!reference?.endsWith('/BatchBody'))
    return [isTracked ? parseTrack(body).outcome : parseIdentifyBody(body).outcome]
  const batch = parseBatch(body)
  if (batch.outcome === 'rejected') return [batch.outcome]
  return batch.items.map((one, index) => {
    const item = parseBatchItem(one, index)
    if (item.outcome === 'rejected') return item.outcome
    return item.type === 'track' ? parseTrack(item.body).outcome : parseIdentifyBody(item.body).outcome
  })
}

/** Parses a message without a type as both types. */
function segmentOutcomesOf(body: JsonObject): readonly string[] {
  const messages = Array.isArray(body['batch']) ? (body['batch'] as readonly JsonObject[]) : [body]
  const clock = { sentAt: body['sentAt'], receivedMs: NOW_MS }
  return messages.flatMap((message) =>
    (message['type'] === undefined ? ['identify', 'track'] : [message['type']]).map((type) => {
      const parsed = parseSegmentComMessage(message, type, clock, { allowedFields: new Set() })
      if (parsed.outcome === 'track') return parseTrack(parsed.track).outcome
      return parsed.outcome === 'identify' ? parseIdentifyBody(parsed.identify).outcome : parsed.outcome
    }),
  )
}

function parseTrack(body: JsonObject) {
  return parseTrackBody(body, NOW_MS)
}

function examplesOf({ content = {} }: ResponseObject): readonly unknown[] {
  return Object.values(content).flatMap(({ examples = {} }) => Object.values(examples).map(({ value }) => value))
}

function isError({ content }: ResponseObject): boolean {
  return content?.['application/json']?.schema.$ref === '#/components/schemas/ErrorBody'
}
