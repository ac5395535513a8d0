import { describe, expect, it } from 'vitest'
import { type IdempotentRequest, idempotentRequestOf } from './idempotent-request.ts'

const project = { organization: 'acme', project: 'shop' }
const requestWith = (special: Partial<Parameters<typeof idempotentRequestOf>[0]>) =>
  idempotentRequestOf({
    header: 'order-4711',
    project,
    route: '/v2/admin/track-event',
    bytes: Buffer.from('{}'),
    ...special,
  })

describe('Idempotency-Key (decisions.md, Retries): 1–255 visible ASCII characters', () => {
  it.each(['a', '!', '~', 'x'.repeat(255), '"8e03978e-40d5-43e8-bc93-6894a57f9324"', '__proto__'])(
    'takes %s',
    (header) => {
      expect(requestWith({ header })).toMatchObject({ name: `acme/shop/${header}` })
    },
  )

  it.each(['', ' ', 'a b', 'a\tb', 'x'.repeat(256), 'ä', '\u007f', '\u0000', 'one, two'])('refuses %j', (header) => {
    expect(requestWith({ header })).toBe('malformed')
  })

  it('is optional', () => {
    expect(requestWith({ header: undefined })).toBe('none')
  })
})

describe('the record of a keyed request', () => {
  const first = requestWith({}) as IdempotentRequest

  it('has the id of project, route, key and SHA-256 of the body', () => {
    expect(first).toEqual({ recordId: '1a41d20f-834b-5e70-827b-f76d6e623a5b', name: 'acme/shop/order-4711' })
  })

  it('is another one for another route or body, under the same name', () => {
    const others = [requestWith({ route: '/v2/sdk/track-event' }), requestWith({ bytes: Buffer.from('{ }') })]
    for (const other of others as IdempotentRequest[]) {
      expect(other.name).toBe(first.name)
      expect(other.recordId).not.toBe(first.recordId)
    }
  })

  it('shares no name with another project', () => {
    const other = requestWith({ project: { organization: 'acme', project: 'blog' } }) as IdempotentRequest
    expect(other.name).not.toBe(first.name)
    expect(other.recordId).not.toBe(first.recordId)
  })
})
