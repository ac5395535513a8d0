import { createApiKey, hashApiKey } from '@nextvisit/domain'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { keyHashOf } from './key-hash-of.ts'

const keys = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((random) => createApiKey('admin', 'P', random))

it('is the hash of a key, however often it comes', () => {
  fc.assert(
    fc.property(keys, (key) => {
      for (const _time of [1, 2]) expect(keyHashOf(key)).toBe(hashApiKey(key))
    }),
  )
})

it('is undefined for what is no key, also after the key that it almost is', () => {
  fc.assert(
    fc.property(keys, (key) => {
      keyHashOf(key)
      for (const other of ['', key.slice(1), `${key}0`, ` ${key}`, key.replace('admin', 'sdk')])
        for (const _time of [1, 2]) expect(keyHashOf(other)).toBeUndefined()
    }),
  )
})
