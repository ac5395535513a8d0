import {
  decodeRecord,
  encodeRecord,
  SealedFormFact,
  type Sealed,
  sealMembers,
  SealedUserFact,
} from '@nextvisit/contracts'
import {
  answerGiven,
  eventTracked,
  formAnswered,
  identifyRequested,
  segmentEntered,
  segmentLeft,
  visit,
  visitAnswered,
} from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { readFormFact, readUserFact } from './read-fact.ts'

const UUID = 'e1c55cb5-3a47-4d0c-9a06-2d7f1f1c6a3e'
const queued = {
  type: 'FormQueued',
  id: UUID,
  organization: 'acme',
  project: 'shop',
  userId: UUID,
  queuedId: UUID,
  formId: 'nps',
  at: '2026-11-02T10:00:00.000Z',
  environment: 'P',
  causeId: UUID,
  priority: 1,
  showFrom: '2026-11-02T10:00:00.000Z',
  catalogRevision: 1,
} as const

/** Encrypts nothing, so that the spec needs no key. */
const seal = (text: string): Sealed => ({ key: UUID, bytes: text })

/** Returns a valid fact with an additional member. */
function nested(innermost: string) {
  const text = JSON.stringify({ ...eventTracked(), extra: 0 })
  const deep = '['.repeat(50_000) + innermost + ']'.repeat(50_000)
  return { ...message(eventTracked()), value: Buffer.from(text.replace('"extra":0', `"extra":${deep}`)) }
}

function message(fact: { readonly id: string; readonly type: string }) {
  const { value, headers } = encodeRecord(fact, { source: 'spec', time: '2026-11-02T10:00:00.000Z', seal })
  return { value: Buffer.from(value), headers }
}

describe('reading a fact', () => {
  it.each([
    identifyRequested({ operations: { set: { plan: 'pro', tags: ['a', null] }, unset: ['x'] } }),
    visit({ device: { $deviceOs: 'iOS' } }),
    eventTracked(),
    eventTracked({ properties: { total: 1, items: [{ sku: 'A-1' }] }, filteredFields: ['phone'] }),
    answerGiven(),
    visitAnswered({ visitId: UUID, queuedId: UUID, formId: 'nps' }),
  ])('reads records of the services: $type', (fact) => {
    expect(readUserFact(message(fact))).toEqual({ outcome: 'read', fact: sealMembers(fact, seal) })
  })

  it('reads the decisions of the evaluator, and changed memberships', () => {
    expect(readFormFact(message(queued))).toEqual({ outcome: 'read', fact: queued })
    for (const fact of [segmentEntered(), segmentLeft({ cause: 'time' })])
      expect(readFormFact(message(fact))).toEqual({ outcome: 'read', fact })
    const answered = formAnswered()
    expect(readFormFact(message(answered))).toEqual({ outcome: 'read', fact: sealMembers(answered, seal) })
  })

  const good = message(eventTracked())
  const changed = (members: object, fact: object = eventTracked()) => ({
    ...good,
    value: Buffer.from(JSON.stringify({ ...fact, ...members })),
  })
  const identify = sealMembers(identifyRequested(), seal)

  it.each([
    ['no value', { ...good, value: null }],
    ['no headers', { ...good, headers: {} }],
    ['a later version', { ...good, headers: { ...good.headers, 'schema-version': '3' } }],
    ['invalid JSON', { ...good, value: Buffer.from('{') }],
    ['a list', { ...good, value: Buffer.from('[]') }],
    ['an unknown type', changed({ type: 'Surprise' })],
    ['no slug', changed({ slug: undefined })],
    ['a time without milliseconds', changed({ received: '2026-11-02T10:00:00Z' })],
    ['an invalid day', changed({ received: '2026-13-02T10:00:00.000Z' })],
    ['properties in clear', changed({ properties: {} })],
    ['properties that are null', changed({ properties: null })],
    ['an identify without sealed members', changed({ sealed: undefined }, identify)],
    ['a name in clear beside sealed members', changed({ userName: 'ada' }, identify)],
    ['operations in clear beside sealed members', changed({ operations: {} }, identify)],
    ['a device in clear beside sealed members', changed({ device: {} }, identify)],
    ['an identify in clear', changed({}, identifyRequested())],
    ['filtered fields that are not names', changed({ filteredFields: [1] })],
    ['U+0000 in a nested member', changed({ more: { items: ['\u0000'] } })],
    ['U+0000', changed({ userName: 'a\u0000' })],
    ['a lone surrogate', changed({ userName: '\ud800' })],
  ])('cannot read %s, like the services', (_what, bad) => {
    expect(readUserFact(bad).outcome).toBe('unreadable')
    expect(decodeRecord(SealedUserFact, bad.value, bad.headers).outcome).toBe('rejected')
  })

  it('reads a valid fact with an endlessly nested member, but not one whose escapes cannot be checked', () => {
    for (const [value, isRead] of [
      [nested('1'), true],
      [nested('"\\u0000"'), false],
    ] as const) {
      expect(readUserFact(value).outcome).toBe(isRead ? 'read' : 'unreadable')
      expect(decodeRecord(SealedUserFact, value.value, value.headers).outcome).toBe(isRead ? 'ok' : 'rejected')
    }
  })

  it('agrees with the services on form facts', () => {
    const { value, headers } = message({ ...queued, type: 'FormQueued', priority: 1.5 } as never)
    expect(readFormFact({ value, headers }).outcome).toBe('unreadable')
    expect(decodeRecord(SealedFormFact, value, headers).outcome).toBe('rejected')
  })
})
