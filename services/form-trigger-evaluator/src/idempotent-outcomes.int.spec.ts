import type { AddressedReply } from '@nextvisit/consumer'
import { eventTracked, identifyRequested, visit } from '@nextvisit/contracts/fixtures'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { at, contextOf, GATEWAY, MINUTE, nps, recorded, SECOND } from '../test/evaluator-fixtures.ts'
import { type GivenEvaluator, givenEvaluator } from '../test/given-evaluator.ts'
import { emptyDraft } from './draft.ts'
import { createProjection } from './projection.ts'

const HOUR = 60 * MINUTE

let given: GivenEvaluator
beforeAll(async () => {
  given = await givenEvaluator(inject('databaseUrl'))
})
afterEach(() => given.clear())
afterAll(() => given.stop())

async function kept(): Promise<string[]> {
  return (await given.prisma.idempotentOutcome.findMany()).map(({ recordId }) => recordId)
}

describe('a duplicate of a keyed record (decisions.md, Retries)', () => {
  const context = contextOf([nps, { id: 'welcome', triggers: [{ visit: {} }], priority: 5 }])

  it('of an event gets the first reply: one form queued, although the duplicate queues none', async () => {
    const first = eventTracked({ keyed: true })
    const replies = await given.fold(context, first)
    expect(replies).toMatchObject([{ kind: 'track', recordId: first.id, formsQueued: 1 }])
    expect(await given.fold(context, { ...first, received: at(10 * SECOND) })).toEqual(replies)
    expect(await given.queue()).toEqual(['nps waiting'])
  })

  it('of a visit gets the same offer, not the next waiting form', async () => {
    const first = visit({ keyed: true, received: at(SECOND) })
    await given.fold(context, eventTracked())
    const replies = await given.fold(context, first)
    expect(replies).toMatchObject([{ kind: 'visit', offer: { formId: 'welcome' }, moreWaiting: true }])
    expect(await given.fold(context, { ...first, received: at(5 * MINUTE) })).toEqual(replies)
    expect(await given.queue()).toEqual(['nps waiting', 'welcome offered'])
  })

  it('of a visit gets the languages of the first, although the user has another one by now', async () => {
    const first = visit({ keyed: true, device: { $userLanguage: 'de' } })
    const replies = await given.fold(context, first)
    expect(replies).toMatchObject([{ offer: { formId: 'welcome', languages: ['de'] } }])
    await given.fold(context, identifyRequested({ device: { $userLanguage: 'fr' }, received: at(SECOND) }))
    expect(await given.fold(context, { ...first, received: at(2 * SECOND) })).toEqual(replies)
  })

  it('gets its reply in the batch that contains both records', async () => {
    const first = visit({ keyed: true })
    const replies = await given.fold(context, first, { ...first, received: at(SECOND) })
    expect(replies).toHaveLength(2)
    expect(replies[1]).toEqual(replies[0])
  })

  it('gets a reply although no gateway waited for the first record, which showed nothing', async () => {
    const [event, shown] = [eventTracked({ keyed: true }), visit({ keyed: true })]
    await given.foldUnheard(context, event, shown)
    const replies = await given.fold(context, event, shown)
    expect(replies).toMatchObject([{ formsQueued: 1 }, { offer: null, moreWaiting: false }])
  })

  it('gets no reply if no gateway waits for one', async () => {
    const first = eventTracked({ keyed: true })
    await given.fold(context, first)
    expect(await given.foldUnheard(context, first)).toEqual([])
  })

  it('gets its reply although the figures of gates fail', async () => {
    const first = eventTracked({ keyed: true })
    await given.fold(context, first)
    const sent: AddressedReply[] = []
    const { afterCommit } = createProjection({
      publishReplies: async (replies) => void sent.push(...replies),
      onStopped: () => {
        throw new Error('a bug')
      },
    })
    await expect(afterCommit?.(given.db, emptyDraft(), { duplicates: [recorded(first)], erased: [] })).rejects.toThrow(
      'a bug',
    )
    expect(sent).toMatchObject([{ channel: GATEWAY, reply: { recordId: first.id, formsQueued: 1 } }])
  })
})

describe('an outcome', () => {
  const context = contextOf([nps])

  it('is not kept of a record without an Idempotency-Key', async () => {
    await given.fold(context, eventTracked(), visit())
    expect(await kept()).toEqual([])
  })

  it('is deleted when no duplicate can arrive any more, and not earlier', async () => {
    const [first, second] = [eventTracked({ keyed: true }), eventTracked({ keyed: true, received: at(HOUR) })]
    await given.fold(context, first, second)
    await given.fold(context, eventTracked({ keyed: true, received: at(48 * HOUR) }))
    expect(await kept()).toEqual(expect.arrayContaining([first.id, second.id]))
    await given.fold(context, eventTracked({ keyed: true, received: at(48 * HOUR + SECOND) }))
    expect(await kept()).not.toContain(first.id)
    expect(await kept()).toContain(second.id)
  })

  it('is replaced when the record comes again after a day', async () => {
    const first = eventTracked({ keyed: true })
    const later = { ...first, received: at(24 * HOUR) }
    await given.fold(context, first, later)
    expect(await given.fold(context, { ...first, received: at(25 * HOUR) })).toMatchObject([{ formsQueued: 0 }])
    expect(await kept()).toEqual([first.id])
  })
})
