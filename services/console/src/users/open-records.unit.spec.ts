import { sealMembers, type SealedUserFact } from '@nextvisit/contracts'
import { eventTracked, identifyRequested, userIdFixture } from '@nextvisit/contracts/fixtures'
import { createDataKey } from '@nextvisit/sealing'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { describe, expect, it } from 'vitest'
import { answered } from '../http/api-route.ts'
import { SHOW_ALL } from '../http/mask.ts'
import { noAnswerOf } from '../services.ts'
import { keptFactOf } from './kept-fact.ts'
import { createRecordOpener, type OpenedRecord } from './open-records.ts'

const A = givenKeyRing('aa'.repeat(32))
const B = givenKeyRing('bb'.repeat(32))
const userId = userIdFixture('ada')
const user = { organization: 'acme', project: 'shop', userId }
const NOW = Date.parse('2026-11-02T10:00:00.000Z')
const { key, wrapped } = createDataKey(A, userId, NOW)
const clear = identifyRequested({ userName: 'ada', operations: { set: { plan: 'gold' } } })
const sealed = sealMembers(clear, (text, context) => ({
  key: key.id,
  bytes: key.seal(text, context),
})) as SealedUserFact
/** An event without properties: nothing of it is sealed. */
const bare = eventTracked({ userName: 'ada', eventName: 'Paid' }) as SealedUserFact
const fenceAt = (offset: number, keysUntilMs: number) => ({
  offset: String(offset),
  keysUntil: new Date(keysUntilMs).toISOString(),
  erasureId: '01a2066e-3ec0-780c-9db5-05517574891e',
})

interface Given {
  readonly keyRing?: typeof A | undefined
  readonly keys?: Parameters<typeof createRecordOpener>[0]['keys']
  readonly fence?: ReturnType<typeof fenceAt>
}

const PLACE = { offset: 5n, keyId: undefined }

/** Opens a record at the offset 5. */
function open(fact: SealedUserFact, given: Given = {}): OpenedRecord {
  const { keyRing = A, keys = answered({ userId, ...(given.fence && { fence: given.fence }), keys: [wrapped] }) } =
    given
  const opener = createRecordOpener({ keyRing: 'keyRing' in given ? given.keyRing : keyRing, keys }, user)
  return opener.open({ offset: 5n, fact })
}

const reasonOf = (record: OpenedRecord) => (record.outcome === 'sealed' ? record.reason : record.outcome)
const textOf = (record: OpenedRecord) => JSON.stringify(keptFactOf(record, PLACE, SHOW_ALL).entry)

describe('a record of a user', () => {
  it('is opened with the key that the user projector has, or needs none', () => {
    expect(open(sealed)).toEqual({ outcome: 'opened', fact: clear })
    expect(open(bare)).toEqual({ outcome: 'opened', fact: bare })
    expect(textOf(open(sealed))).toContain('gold')
  })

  it.each([
    ['before the fence', fenceAt(6, NOW - 1), 'erased'],
    ['after the fence, with a key that the fence covers', fenceAt(5, NOW), 'erased'],
    ['after the fence, with a later key', fenceAt(5, NOW - 1), 'opened'],
  ])('%s, is %s', (_, fence, outcome) => {
    const record = open(sealed, { fence })
    expect(record.outcome).toBe(outcome)
    expect(textOf(record).includes('gold')).toBe(outcome === 'opened')
  })

  it('without sealed members is erased by the fence, too', () => {
    const record = open(bare, { fence: fenceAt(6, NOW - 1) })
    expect(textOf(record)).toContain('"isErased":true')
  })

  it.each([
    ['no ring', { keyRing: undefined }, 'This console has no NEXTVISIT_SECRET_KEY.'],
    ['another ring', { keyRing: B }, `The console's NEXTVISIT_SECRET_KEY lacks key ${A.newestKeyId}.`],
    [
      'no key',
      { keys: answered({ userId, keys: [] }) },
      'Its key is destroyed, or the user projector has not read it yet.',
    ],
    [
      'the key of another user',
      { keys: answered({ userId, keys: [{ ...wrapped, wrapped: createDataKey(A, 'bob', NOW).wrapped.wrapped }] }) },
      'The stored key of the user is damaged.',
    ],
    ['no answer', { keys: noAnswerOf('user-projector') }, noAnswerOf('user-projector').message],
  ])('stays sealed with %s, and names the obstacle', (_, given, reason) => {
    const record = open(sealed, given)
    expect(reasonOf(record)).toBe(reason)
    expect(keptFactOf(record, PLACE, SHOW_ALL)).toMatchObject({ unread: reason, entry: { title: 'Identified' } })
  })

  it('without sealed members stays unopened while the fence is unknown', () => {
    expect(open(bare, { keys: noAnswerOf('user-projector') }).outcome).toBe('sealed')
  })

  it('with changed bytes is damaged', () => {
    const changed = { ...sealed, sealed: { key: key.id, bytes: key.seal('{}', 'another record') } } as SealedUserFact
    expect(reasonOf(open(changed))).toBe('The content is damaged.')
  })
})
