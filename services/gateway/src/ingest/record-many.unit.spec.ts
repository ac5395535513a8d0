import { setImmediate as nextTurn } from 'node:timers/promises'
import { createLogger } from '@nextvisit/service-kit'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  ADMITTED,
  givenStages,
  idempotencyOf,
  KEY,
  kindWith,
  PUBLISHED,
  requestedItem,
} from '../../test/given-stages.ts'
import { REFUSALS, refuse } from '../refusals/refusals.ts'
import { createRecordMany } from './record-many.ts'
import type { StagesParts } from './stages.ts'

const logger = createLogger('test', 'silent')
const USERS = ['ada', 'grace']
interface Item {
  readonly userName: string
  readonly type: 'identify' | 'track'
  /** Its outcome alone. */
  readonly alone: 'recorded' | 'kept' | number
  /** Turns of the event loop until the outcome is known. */
  readonly turns: number
}

const arbitraryItem: fc.Arbitrary<Item> = fc.record({
  userName: fc.constantFrom(...USERS),
  type: fc.constantFrom('identify' as const, 'track' as const),
  alone: fc.constantFrom<Item['alone']>('recorded', 'kept', 400, 404, 409, 500, 503),
  turns: fc.nat(2),
})

it('no item overtakes one of its user that must be sent again, for any results in any order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(arbitraryItem, { maxLength: 12 }), async (items) => {
      const published: number[] = []
      const abandoned: number[] = []
      const { stages, locks, lock } = givenStages({
        keptAnswers: {
          lock: async (request) => {
            const { alone } = items[Number(typeof request === 'object' && request.recordId)] ?? {}
            return alone === 'kept' ? { outcome: 'answered', answer: { status: 200, body: {} } } : lock(request)
          },
        },
        userEvents: {
          partitionOf: (userId) => ({ userId, partition: 0 }),
          publish: async ({ id }) => {
            published.push(Number(id))
            return PUBLISHED
          },
        },
      })
      const kindOf = (type: Item['type']) =>
        kindWith({
          identifies: type === 'identify',
          admit: async ({ request: { requestId: id } }) => {
            const position = Number(id)
            const { alone = 500, turns = 0 } = items[position] ?? {}
            for (let turn = 0; turn < turns; turn += 1) await nextTurn()
            if (alone === 500) throw new Error('a bug')
            if (typeof alone === 'number') return refuse({ status: alone, message: 'No' })
            const conclude = async (outcome: string) => void (outcome === 'not-published' && abandoned.push(position))
            return { ...ADMITTED, fact: { ...ADMITTED.fact, id }, conclude }
          },
        })
      const kinds = { identify: kindOf('identify'), track: kindOf('track') }
      const results = await createRecordMany(
        stages,
        logger,
      )(
        items.map(({ userName, type }, position) => {
          const idempotency = { key: 'key', name: `key ${position}`, recordId: String(position) }
          return requestedItem(kinds[type], { userName }, { requestId: String(position), idempotency })
        }),
      )
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
      expect(locks.map(({ ends }) => ends.length)).toEqual(locks.map(() => 1))
    }),
  )
})

describe('an event of a batch', () => {
  it('waits for the identify of its user before it, and for nothing else', async () => {
    const admitted: string[] = []
    const identified = Promise.withResolvers<void>()
    const kindOf = (identifies: boolean, before: Promise<unknown> = Promise.resolve()) =>
      kindWith({
        identifies,
        admit: async ({ request: { requestId: id } }, isIdentified) => {
          await before
          admitted.push(`${id} ${await isIdentified}`)
          return ADMITTED
        },
      })
    const items = [
      requestedItem(kindOf(false, new Promise(() => undefined)), { userName: 'ada' }, { requestId: 'slow' }),
      requestedItem(kindOf(false), { userName: 'ada' }, { requestId: 'early' }),
      requestedItem(kindOf(true, identified.promise), { userName: 'ada' }, { requestId: 'identify' }),
      requestedItem(kindOf(false), { userName: 'ada' }, { requestId: 'late' }),
      requestedItem(kindOf(false), { userName: 'grace' }, { requestId: 'other' }),
    ]
    void createRecordMany(givenStages().stages, logger)(items)
    await nextTurn()
    expect(admitted).toEqual(['early undefined', 'other undefined'])
    identified.resolve()
    await nextTurn()
    expect(admitted.slice(2)).toEqual(['identify undefined', 'late true'])
  })
})

describe('the creation of a user', () => {
  const track = kindWith({})
  const withCreation = (admit: Parameters<typeof kindWith>[0]['admit']) => {
    const identify = kindWith({ identifies: true, ...(admit && { admit }) })
    const createUser = () =>
      requestedItem(identify, { userName: 'ada' }, { requestId: 'creation', idempotency: idempotencyOf('a', 'a') })
    return requestedItem(track, { userName: 'ada' }, {}, createUser)
  }
  /** Records two events with this creation; returns the number of records and the statuses of the events. */
  async function record(existence: 'missing' | 'exists', item: ReturnType<typeof withCreation>) {
    let records = 0
    const userEvents: StagesParts['userEvents'] = {
      partitionOf: (userId) => ({ userId, partition: 0 }),
      publish: async () => {
        records += 1
        return PUBLISHED
      },
    }
    const { stages } = givenStages({ knownUsers: { check: async () => existence, keyOf: async () => KEY }, userEvents })
    const results = await createRecordMany(stages, logger)([item, item])
    return { records, statuses: results.map(({ status }) => status) }
  }

  it('is recorded once, and only if the user is missing', async () => {
    expect(await record('missing', withCreation(undefined))).toEqual({ records: 3, statuses: [200, 200] })
    expect(await record('exists', withCreation(undefined))).toEqual({ records: 2, statuses: [200, 200] })
  })

  it('has its events sent again if its look-up gave no verdict and that of an event finds no user', async () => {
    const unknown = kindWith({ admit: async () => refuse(REFUSALS.user) })
    const identify = kindWith({ identifies: true })
    const createUser = () => requestedItem(identify, { userName: 'ada' }, { requestId: 'creation' })
    const { stages } = givenStages({ knownUsers: { check: async () => 'unchecked', keyOf: async () => KEY } })
    const [created, plain] = await createRecordMany(
      stages,
      logger,
    )([requestedItem(unknown, { userName: 'ada' }, {}, createUser), requestedItem(unknown, { userName: 'grace' }, {})])
    expect([created?.status, plain?.status]).toEqual([503, 404])
  })

  it('refuses its events if it is refused itself', async () => {
    const refused = withCreation(async () => refuse(REFUSALS.mau))
    expect(await record('missing', refused)).toEqual({ records: 0, statuses: [400, 400] })
  })
})
