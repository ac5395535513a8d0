import { setImmediate as nextTurn } from 'node:timers/promises'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { answer } from '../api/answer.ts'
import { refuse } from '../api/refusals.ts'
import type { CheckedRequest } from '../http/route.ts'
import { createPrepareInOrder, type Prepare, recordItems } from './record-items.ts'

const USERS = ['ada', 'grace']
interface Item {
  readonly userName: string
  readonly type: 'identify' | 'track'
  /** What it would be answered alone. */
  readonly alone: 'recorded' | 'kept' | number
  /** When this is known. */
  readonly turns: number
}

const arbitraryItem: fc.Arbitrary<Item> = fc.record({
  userName: fc.constantFrom(...USERS),
  type: fc.constantFrom('identify' as const, 'track' as const),
  alone: fc.constantFrom<Item['alone']>('recorded', 'kept', 400, 404, 409, 500, 503),
  turns: fc.nat(2),
})

it('no item overtakes one of its user that must be sent again, whatever becomes of each, and whenever', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(arbitraryItem, { maxLength: 12 }), async (items) => {
      const published: number[] = []
      const abandoned: number[] = []
      const prepare: Prepare = async (_type, { body }) => {
        const position = Number(body['position'])
        const { alone = 500, turns = 0 } = items[position] ?? {}
        for (let turn = 0; turn < turns; turn += 1) await nextTurn()
        if (alone === 'kept') return answer(200, { kept: true })
        if (alone !== 'recorded') return refuse({ status: alone, message: 'No' })
        const publish = async () => {
          published.push(position)
          return answer(200, {})
        }
        return { outcome: 'prepared', publish, abandon: async () => void abandoned.push(position) }
      }
      const prepareInOrder = createPrepareInOrder(prepare)
      const prepareItem = (item: unknown, position: number) => {
        const { userName, type } = item as Item
        return prepareInOrder(type, { body: { userName, position } } as unknown as CheckedRequest)
      }
      const results = await recordItems(items, prepareItem)
      for (const userName of USERS) {
        const own = items.flatMap((item, position) => (item.userName === userName ? [{ ...item, position }] : []))
        const held = own.findIndex(({ alone }) => [409, 500, 503].includes(Number(alone)))
        const before = held < 0 ? own : own.slice(0, held)
        const recorded = before.filter(({ alone }) => alone === 'recorded').map(({ position }) => position)
        expect(published.filter((position) => items[position]?.userName === userName)).toEqual(recorded)
        for (const { alone, position } of own.slice(before.length + 1))
          expect(results[position]?.status).toBe(alone === 'kept' ? 200 : 503)
      }
      const prepared = items.flatMap(({ alone }, position) => (alone === 'recorded' ? [position] : []))
      expect([...published, ...abandoned].toSorted((a, b) => a - b)).toEqual(prepared)
    }),
  )
})
