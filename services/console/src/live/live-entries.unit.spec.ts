import { encodeRecord, type FormFact, type UserFact } from '@nextvisit/contracts'
import {
  answerGiven,
  eventTracked,
  identifyRequested,
  segmentEntered,
  segmentLeft,
} from '@nextvisit/contracts/fixtures'
import type { FetchedRecord } from '@nextvisit/log'
import { testSealOf } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'
import { formEntriesOf, passesFilter, refusalEntry, userEntriesOf } from './live-entries.ts'

const AT = '2026-11-23T03:00:00.000Z'
const shop = { organization: 'demo', project: 'shop' }
const userId = '15e46d0f-a922-5800-a3fd-9c536cb14c9a'
const REQUEST = '01a2066e-3ec0-780c-9db5-05517574891e'

function recordOf(fact: UserFact | FormFact): FetchedRecord {
  const { value, headers } = encodeRecord(fact, { source: 'spec', time: AT, seal: testSealOf(fact.userId) })
  return { topic: 't', partition: 0, offset: 0n, timestampMs: 0, key: null, value: Buffer.from(value), headers }
}
const track = (own: Parameters<typeof eventTracked>[0] = {}) =>
  eventTracked({ ...shop, userId, eventName: 'Checkout', slug: 'checkout', ...own })
const [queued] = formEntriesOf(
  recordOf({
    type: 'FormQueued',
    ...shop,
    id: REQUEST,
    userId,
    queuedId: REQUEST,
    formId: 'nps',
    at: AT,
    environment: 'P',
    causeId: REQUEST,
    priority: 0,
    showFrom: AT,
    catalogRevision: 1,
  }),
)
const [event] = userEntriesOf(recordOf(track()))
const refused = refusalEntry(shop, {
  id: REQUEST,
  at: AT,
  reason: 'user',
  status: 404,
  message: 'User not found',
  route: '/v2/admin/batch',
  item: 3,
  requestId: REQUEST,
  key: { name: 'backend', kind: 'admin', environment: 'T' },
  event: 'checkout',
})

describe('entries of Live', () => {
  it('have each remark once, although another program has written it thousands of times', () => {
    const unchecked = Array.from({ length: 10_000 }, () => 'user' as const)
    const marks = userEntriesOf(recordOf(track({ unchecked })))[0]?.entry.marks
    expect(marks?.filter((mark) => mark === 'unchecked: user')).toHaveLength(1)
  })

  it('name the fact and the id of its user, and no value', () => {
    const secret = { set: { card: '4242' } }
    const [identified] = userEntriesOf(recordOf(identifyRequested({ ...shop, userName: 'ada', operations: secret })))
    expect(identified?.entry).toMatchObject({ ...shop, kind: 'identify', title: 'Identified', userName: null })
    expect(JSON.stringify(identified?.entry)).not.toMatch(/"ada"|card|"4242/)
    const [answered] = userEntriesOf(recordOf(answerGiven({ ...shop, userId, answers: { reason: '"4242' } })))
    expect(answered).toMatchObject({
      entry: { kind: 'answer', title: 'Answer to form nps finished' },
      event: undefined,
    })
    expect(JSON.stringify(answered?.entry)).not.toMatch(/reason|4242/)
    const [withProperties] = userEntriesOf(recordOf(track({ properties: { card: '4242' } })))
    expect(withProperties).toMatchObject({
      entry: { kind: 'event', title: 'Event Checkout', userId },
      event: 'checkout',
    })
    expect(JSON.stringify(withProperties?.entry)).not.toMatch(/card|4242/)
  })

  it('have marks for special cases', () => {
    const special = { environment: 'T', newEvent: true, evaluateTriggers: false, unchecked: ['mau'] } as const
    const [marked] = userEntriesOf(recordOf(track({ ...special, unchecked: ['mau'] })))
    expect(marked?.entry.marks).toEqual(['test key', 'new event', 'too old for triggers', 'unchecked: mau'])
    expect(event?.entry.marks).toEqual([])
  })

  it('include form events and refusals', () => {
    expect(queued?.entry).toMatchObject({ kind: 'queued', title: 'Form nps queued', userId, userName: null })
    expect(refused.entry).toMatchObject({
      kind: 'refused',
      title: 'User not found',
      userId: null,
      marks: ['test key'],
      refusal: { reason: 'user', status: 404, route: '/v2/admin/batch, item 3', key: 'backend' },
    })
  })

  it('of a changed membership name the segment, and the place of its cause, which an erasure may cover', () => {
    const causeId = REQUEST
    expect(formEntriesOf(recordOf(segmentEntered({ ...shop, userId, causeId, causeOffset: 7 })))).toEqual([
      {
        entry: expect.objectContaining({
          kind: 'segment',
          title: 'Entered segment paying',
          userId,
          requestId: causeId,
        }),
        event: undefined,
        record: { offset: 7n, keyId: undefined },
      },
    ])
    const { causeId: _, ...byTime } = segmentLeft({ cause: 'time' })
    expect(formEntriesOf(recordOf(byTime))[0]?.entry).toMatchObject({ title: 'Left segment paying', requestId: null })
  })

  it('are missing for an unreadable record', () => {
    expect(userEntriesOf({ ...recordOf(track()), value: Buffer.from('{') })).toEqual([])
  })

  it('can be filtered by project, event and outcome', () => {
    const entries = [event, queued, refused].filter((entry) => entry !== undefined)
    const all = { project: undefined, event: undefined, outcome: undefined, refusalsOf: [shop] }
    const kinds = (filter: Partial<Parameters<typeof passesFilter>[1]>) =>
      entries.filter((entry) => passesFilter(entry, { ...all, ...filter })).map(({ entry }) => entry.kind)
    expect(kinds({})).toEqual(['event', 'queued', 'refused'])
    expect(kinds({ project: shop })).toEqual(['event', 'queued', 'refused'])
    expect(kinds({ project: { ...shop, project: 'other' } })).toEqual([])
    expect(kinds({ event: 'checkout' })).toEqual(['event', 'refused'])
    expect(kinds({ outcome: 'queued' })).toEqual(['queued'])
    expect(kinds({ event: 'checkout', outcome: 'refused' })).toEqual(['refused'])
    expect(kinds({ refusalsOf: [{ ...shop, project: 'other' }] })).toEqual(['event', 'queued'])
    expect(kinds({ refusalsOf: [] })).toEqual(['event', 'queued'])
  })
})
