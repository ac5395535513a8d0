import { eventTracked } from '@nextvisit/contracts/fixtures'
import type { PublishOutcome } from '@nextvisit/log'
import { createLogger } from '@nextvisit/service-kit'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ADMITTED, givenStages, KEY, kindWith, PUBLISHED, requestedItem } from '../../test/given-stages.ts'
import { REFUSALS, refuse } from '../refusals/refusals.ts'
import { answer, type CheckedRequest } from '../http/route.ts'
import { createRecordMany } from './record-many.ts'

const logger = createLogger('test', 'silent')
const OUTCOMES: readonly PublishOutcome[] = [
  PUBLISHED,
  { outcome: 'not-published', reason: 'deadline' },
  { outcome: 'unknown', cause: new Error('no answer') },
]
const FAULTS = [
  'parse',
  'signature',
  'lock',
  'partition',
  'admit',
  'keyOf',
  'mayReact',
  'expect',
  'publish',
  'onRecorded',
  'conclude',
  'reply',
  'answer',
] as const
type Fault = (typeof FAULTS)[number]

const arbitraryCourse = fc.record({
  /** The part that throws. */
  fault: fc.option(fc.constantFrom(...FAULTS), { nil: undefined }),
  hasPartition: fc.boolean(),
  isAdmitted: fc.boolean(),
  hasKey: fc.boolean(),
  mayReact: fc.boolean(),
  published: fc.constantFrom(...OUTCOMES),
})
type Course = typeof arbitraryCourse extends fc.Arbitrary<infer Value> ? Value : never

/** A course without a fault. */
const SMOOTH: Course = {
  fault: undefined,
  hasPartition: true,
  isAdmitted: true,
  hasKey: true,
  mayReact: true,
  published: PUBLISHED,
}
/** A fact that needs a data key. */
const SEALED = eventTracked({ properties: { total: 1 } })

/** Stages and a kind that take this course. */
function givenCourse({ fault, hasPartition, isAdmitted, hasKey, mayReact, published }: Course) {
  const at = (part: Fault) => {
    if (part === fault) throw new Error(`a bug in ${part}`)
  }
  const settled: string[] = []
  let publishes = 0
  const base = givenStages()
  const { locks, waiters } = base
  const { stages } = givenStages({
    checkSignature: () => {
      at('signature')
      return 'valid'
    },
    keptAnswers: {
      lock: async (request) => {
        at('lock')
        return base.lock(request)
      },
    },
    knownUsers: {
      check: async () => 'exists',
      keyOf: async () => {
        at('keyOf')
        return hasKey ? KEY : undefined
      },
    },
    userEvents: {
      partitionOf: (userId) => {
        at('partition')
        return hasPartition ? { userId, partition: 0 } : undefined
      },
      publish: async () => {
        publishes += published.outcome === 'not-published' ? 0 : 1
        at('publish')
        return published
      },
    },
    replies: {
      expect: () => {
        at('expect')
        const waiter = { cancelled: 0 }
        waiters.push(waiter)
        const reply = async () => {
          at('reply')
          return 'later' as const
        }
        return { channel: 'replies', reply, cancel: () => void (waiter.cancelled += 1) }
      },
    },
    onRecorded: () => at('onRecorded'),
  })
  const kind = kindWith({
    parse: () => {
      at('parse')
      return { outcome: 'ok', value: { userName: 'ada' } }
    },
    admit: async () => {
      at('admit')
      const conclude = async (outcome: string) => {
        settled.push(outcome)
        at('conclude')
      }
      return isAdmitted ? { ...ADMITTED, fact: SEALED, conclude } : refuse(REFUSALS.user)
    },
    mayReact: () => {
      at('mayReact')
      return mayReact
    },
    answer: () => {
      at('answer')
      return answer(200, {})
    },
  })
  const { key } = { key: { entry: { kind: 'sdk' } } } as CheckedRequest
  return {
    stages,
    item: requestedItem(kind, { userName: 'ada' }, { key }),
    locks,
    waiters,
    settled,
    publishes: () => publishes,
  }
}

describe('a lock of an Idempotency-Key', () => {
  it('ends exactly once, and so does a waiter, for any result of the item and any stage that throws', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryCourse, fc.boolean(), async (course, isBatch) => {
        const { stages, item, locks, waiters } = givenCourse(course)
        const [result] = isBatch
          ? await createRecordMany(stages, logger)([item])
          : [await stages.record(item.kind, item.request).catch(() => undefined)]
        expect(locks.length).toBeLessThanOrEqual(1)
        for (const { ends } of locks) expect(ends).toHaveLength(1)
        for (const { cancelled } of waiters) expect(cancelled).toBe(1)
        const isAnswered = result?.outcome === 'answered'
        expect(locks.some(({ ends }) => ends.includes('keep'))).toBe(isAnswered)
      }),
    )
  })

  it.each(['keyOf', 'mayReact', 'expect'] as const)(
    'is abandoned, and room and names are given back, if %s throws before the publish',
    async (fault) => {
      const course = { ...SMOOTH, fault }
      const { stages, item, locks, settled } = givenCourse(course)
      await expect(stages.record(item.kind, item.request)).rejects.toThrow(`a bug in ${fault}`)
      expect(locks.map(({ ends }) => ends)).toEqual([['abandon']])
      expect(settled).toEqual(['not-published'])
    },
  )

  it('is abandoned, and room and names are given back, if the data key of the user could not be published', async () => {
    const { stages, item, locks, settled, publishes } = givenCourse({ ...SMOOTH, hasKey: false })
    expect(await stages.record(item.kind, item.request)).toEqual(refuse(REFUSALS.notRecorded))
    expect(locks.map(({ ends }) => ends)).toEqual([['abandon']])
    expect(settled).toEqual(['not-published'])
    expect(publishes()).toBe(0)
  })

  it('is never abandoned after its record was published, or may have been', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryCourse, async (course) => {
        const { stages, item, locks, publishes } = givenCourse(course)
        await stages.record(item.kind, item.request).catch(() => undefined)
        const ends = locks.flatMap((lock) => lock.ends)
        expect(publishes() > 0 ? ends : []).not.toContain('abandon')
      }),
    )
  })
})
