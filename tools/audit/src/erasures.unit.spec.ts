import { eventTracked, userErased } from '@nextvisit/contracts/fixtures'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { isFencedInProduct } from '../test/product.ts'
import { isFenced, keyTimeMs } from './erasures.ts'
import type { ClearFact } from './facts.ts'

const fence = (offset: bigint, keysUntilMs: number) => ({ partition: 3, offset, keysUntilMs, fact: userErased() })

it('the auditor and the product fence the same records', () => {
  const ms = fc.integer({ min: 1, max: 2 ** 41 })
  const keyId = fc.oneof(fc.uuid({ version: 7 }), fc.uuid({ version: 4 }))
  const place = fc.record({ at: fc.bigInt(0n, 20n), fence: fc.bigInt(0n, 20n) })
  fc.assert(
    fc.property(place, ms, fc.option(keyId), fc.boolean(), ({ at, fence: offset }, until, key, isLast) => {
      const keysUntilMs = isLast && key ? keyTimeMs(key) : until
      const fact = { ...eventTracked(), ...(key && { sealed: { key, bytes: '' } }) }
      expect(isFenced(fact as ClearFact, at, fence(offset, keysUntilMs))).toBe(
        isFencedInProduct({ offset: at, fact }, { offset, keysUntilMs }),
      )
    }),
  )
})

it('a fence covers records without sealed members by their offset', () => {
  const [before, after] = [9n, 11n].map((offset) => isFenced(eventTracked() as ClearFact, offset, fence(10n, 2 ** 45)))
  expect([before, after]).toEqual([true, false])
})
