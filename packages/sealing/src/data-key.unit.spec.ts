import { inspect } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { givenKeyRing } from '../test/given-key-ring.ts'
import { createDataKey, fingerprintOf, rewrapDataKey, unwrapDataKey, type WrappedKey } from './data-key.ts'

const [A, B] = ['aa', 'bb'].map((byte) => byte.repeat(32)) as [string, string]
const ring = givenKeyRing(A)
const USER = 'c364d31e-0000-5000-8000-000000000001'

function unwrap(wrapped: WrappedKey, by = ring) {
  const unwrapped = unwrapDataKey(by, wrapped)
  if (unwrapped.outcome !== 'unwrapped') throw new Error(unwrapped.outcome)
  return unwrapped.key
}

describe('a data key', () => {
  it('opens what it sealed, in the same context only', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), fc.string(), (text, context, other) => {
        const { key, wrapped } = createDataKey(ring, USER, Date.now())
        const sealed = key.seal(text, context)
        expect(unwrap(wrapped).open(sealed, context)).toBe(text)
        expect(key.open(sealed, `${other}/${context}`)).toBeUndefined()
      }),
    )
  })

  it('opens nothing of another key, and nothing that was changed', () => {
    const { key } = createDataKey(ring, USER, 0)
    const sealed = key.seal('text', 'x')
    expect(createDataKey(ring, USER, 0).key.open(sealed, 'x')).toBeUndefined()
    for (const changed of ['', 'A', sealed.slice(4), `${sealed.slice(0, -4)}AAAA`])
      expect(key.open(changed, 'x')).toBeUndefined()
  })

  it('has an id that contains the instant it was created for', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), (ms) => {
        const { id } = createDataKey(ring, USER, ms).key
        expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBe(ms)
      }),
    )
  })

  it('is revealed by no dump', () => {
    const { key, wrapped } = createDataKey(ring, USER, 0)
    const opened = ring.open(wrapped.wrapped, `user-key:${USER}/${key.id}`)
    const secret = opened.outcome === 'opened' ? opened.bytes.toString('hex') : ''
    expect(secret).toHaveLength(64)
    expect(inspect(key, { depth: null, showHidden: true })).not.toContain(secret)
  })
})

describe('a wrapped key', () => {
  const { wrapped } = createDataKey(ring, USER, 0)

  it('is unwrapped by a ring that has the key that wrapped it', () => {
    expect(unwrapDataKey(givenKeyRing(B, A), wrapped)).toMatchObject({
      outcome: 'unwrapped',
      key: { id: wrapped.keyId },
    })
    expect(unwrapDataKey(givenKeyRing(B), wrapped)).toEqual({ outcome: 'missing-key', keyId: ring.newestKeyId })
  })

  it('is of one user and one id', () => {
    const other = createDataKey(ring, USER, 0).wrapped
    expect(unwrapDataKey(ring, { ...wrapped, userId: 'c364d31e-0000-5000-8000-000000000002' }).outcome).toBe('damaged')
    expect(unwrapDataKey(ring, { ...wrapped, keyId: other.keyId }).outcome).toBe('damaged')
  })

  it('stays the same key when the newest key of the ring wraps it again', () => {
    const both = givenKeyRing(B, A)
    const again = rewrapDataKey(both, wrapped)
    expect(again).toMatchObject({ userId: USER, keyId: wrapped.keyId })
    const sealed = unwrap(wrapped).seal('text', 'x')
    expect(again && unwrap(again, givenKeyRing(B)).open(sealed, 'x')).toBe('text')
    expect(again && rewrapDataKey(both, again)).toBeUndefined()
    expect(rewrapDataKey(givenKeyRing(B), wrapped)).toBeUndefined()
    expect(rewrapDataKey(both, { ...wrapped, userId: 'c364d31e-0000-5000-8000-000000000002' })).toBeUndefined()
  })

  it('is damaged if it has another length', () => {
    const short = ring.seal(Buffer.alloc(31), `user-key:${USER}/${wrapped.keyId}`)
    expect(unwrapDataKey(ring, { ...wrapped, wrapped: short }).outcome).toBe('damaged')
  })

  it('has a fingerprint of its own', () => {
    expect(fingerprintOf(wrapped)).toMatch(/^[0-9a-f]{64}$/)
    expect(fingerprintOf(createDataKey(ring, USER, 0).wrapped)).not.toBe(fingerprintOf(wrapped))
  })
})
