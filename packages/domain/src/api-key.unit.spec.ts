import { randomBytes } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createApiKey, hashApiKey, parseApiKey } from './api-key.ts'

const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 })
const kind = fc.constantFrom('admin' as const, 'sdk' as const)
const environment = fc.constantFrom('P' as const, 'T' as const)

describe('API keys (decisions.md, Keys)', () => {
  it('have the specified form with their kind and environment', () => {
    fc.assert(
      fc.property(kind, environment, bytes, (k, e, random) => {
        const key = createApiKey(k, e, random)
        expect(key).toMatch(new RegExp(`^nv_${k}_${e}_[0-9A-Za-z]{38}$`))
        expect(parseApiKey(key)).toEqual({ kind: k, environment: e })
      }),
    )
  })

  it('are equal for equal random bytes, checksum included', () => {
    expect(createApiKey('admin', 'P', new Uint8Array(32))).toBe('nv_admin_P_000000000000000000000000000000002qWboD')
  })

  it('differ for different random bytes', () => {
    const keys = Array.from({ length: 1_000 }, () => createApiKey('sdk', 'T', randomBytes(32)))
    expect(new Set(keys).size).toBe(1_000)
  })

  it('are refused with any one character changed', () => {
    fc.assert(
      fc.property(
        kind,
        environment,
        bytes,
        fc.nat(),
        fc.constantFrom('0', '9', 'A', 'Z', 'a', 'z', '_', '-'),
        (k, e, random, place, character) => {
          const key = createApiKey(k, e, random)
          const index = place % key.length
          fc.pre(key[index] !== character)
          expect(parseApiKey(key.slice(0, index) + character + key.slice(index + 1))).toBeUndefined()
        },
      ),
    )
  })

  it.each(['', 'nv_admin_P_', 'nv_admin_X_00000000000000000000000000000000000000', 'two, keys'])(
    'refuses %j',
    (text) => {
      expect(parseApiKey(text)).toBeUndefined()
    },
  )

  it('need 32 random bytes', () => {
    expect(() => createApiKey('admin', 'P', new Uint8Array(31))).toThrow('32 random bytes')
  })

  it('are stored as SHA-256 in hex', () => {
    expect(hashApiKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  })
})
