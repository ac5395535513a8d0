import { hash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { type IdempotentContent, type IdempotentRequest, idempotentRequestOf } from './idempotent-request.ts'

type ApiKey = Parameters<typeof idempotentRequestOf>[0]
const apiKey: ApiKey = {
  entry: { kind: 'admin', environment: 'P' },
  project: { organization: 'acme', project: 'shop' },
}
const requestWith = (content: Partial<IdempotentContent>, special: Partial<ApiKey> = {}) =>
  idempotentRequestOf(
    { ...apiKey, ...special },
    { key: 'order-4711', route: '/v2/admin/track-event', bytes: Buffer.from('{}'), ...content },
  )

describe('Idempotency-Key (decisions.md, Retries): 1–255 visible ASCII characters', () => {
  it.each(['a', '!', '~', 'x'.repeat(255), '"8e03978e-40d5-43e8-bc93-6894a57f9324"', '__proto__'])(
    'may be %s',
    (key) => {
      expect(requestWith({ key })).toMatchObject({ key })
    },
  )

  it.each(['', ' ', 'a b', 'a\tb', 'x'.repeat(256), 'ä', '\u007f', '\u0000', 'one, two'])('must not be %j', (key) => {
    expect(requestWith({ key })).toBe('malformed')
  })

  it('is optional', () => {
    expect(requestWith({ key: undefined })).toBe('none')
  })
})

describe('the record of a keyed request', () => {
  const first = requestWith({}) as IdempotentRequest

  it('has the id of project, route, key and SHA-256 of the body', () => {
    expect(first).toEqual({
      key: 'order-4711',
      recordId: 'b1098d83-24e3-54c4-a2b4-fcb9f1e86c9e',
      name: hash('sha256', 'acme/shop/admin/P/order-4711', 'base64url'),
    })
  })

  it('is another one for another route or body, under the same name', () => {
    const others = [requestWith({ route: '/v2/admin/identify-user' }), requestWith({ bytes: Buffer.from('{ }') })]
    for (const other of others as IdempotentRequest[]) {
      expect(other.name).toBe(first.name)
      expect(other.recordId).not.toBe(first.recordId)
    }
  })

  it.each([
    { kind: 'sdk', environment: 'P' },
    { kind: 'admin', environment: 'T' },
  ] as const)('shares neither id nor name with a request of another kind of key or environment: %j', (entry) => {
    const other = requestWith({}, { entry }) as IdempotentRequest
    expect(other.name).not.toBe(first.name)
    expect(other.recordId).not.toBe(first.recordId)
  })

  it('is another one for each position in a batch', () => {
    const items = [first, requestWith({ suffix: 0 }), requestWith({ suffix: 1 })] as IdempotentRequest[]
    expect(new Set(items.map(({ recordId }) => recordId)).size).toBe(3)
    expect(new Set(items.map(({ name }) => name)).size).toBe(3)
    expect(requestWith({ key: 'order-4711 0' })).toBe('malformed')
  })

  it('shares no name with another project', () => {
    const other = requestWith({}, { project: { organization: 'acme', project: 'blog' } }) as IdempotentRequest
    expect(other.name).not.toBe(first.name)
    expect(other.recordId).not.toBe(first.recordId)
  })
})
