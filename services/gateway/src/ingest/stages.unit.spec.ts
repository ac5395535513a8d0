import type { PublishOutcome } from '@nextvisit/log'
import { createLogger } from '@nextvisit/service-kit'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ADMITTED, givenStages, requestedItem, kindWith, PUBLISHED } from '../../test/given-stages.ts'
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
  mayReact: fc.boolean(),
  published: fc.constantFrom(...OUTCOMES),
})
type Course = typeof arbitraryCourse extends fc.Arbitrary<infer Value> ? Value : never

/** Stages and a kind that take this course. */
function givenCourse({ fault, hasPartition, isAdmitted, mayReact, published }: Course) {
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
      return isAdmitted ? { ...ADMITTED, conclude } : refuse(REFUSALS.user)
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

  it.each(['mayReact', 'expect'] as const)(
    'is abandoned, and room and names are given back, if %s throws before the publish',
    async (fault) => {
      const course = { fault, hasPartition: true, isAdmitted: true, mayReact: true, published: PUBLISHED }
      const { stages, item, locks, settled } = givenCourse(course)
      await expect(stages.record(item.kind, item.request)).rejects.toThrow(`a bug in ${fault}`)
      expect(locks.map(({ ends }) => ends)).toEqual([['abandon']])
      expect(settled).toEqual(['not-published'])
    },
  )

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
