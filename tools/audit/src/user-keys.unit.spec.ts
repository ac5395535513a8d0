import { answerGiven, eventTracked, identifyRequested } from '@nextvisit/contracts/fixtures'
import { expect, it } from 'vitest'
import { createProductKey, sealedRecord } from '../test/product.ts'
import type { ClearEvent, ClearIdentify } from './facts.ts'
import { readUserFact } from './read-fact.ts'
import { createSecretKeys } from './secret-keys.ts'
import { createUserKeys } from './user-keys.ts'

const [OLD, NEW] = ['aa'.repeat(32), 'bb'.repeat(32)]
const identify = identifyRequested({ operations: { set: { plan: 'pro' } }, device: { $browser: 'Firefox' } })
const event = eventTracked({ properties: { total: 1 } })
const { userId } = identify
const key = createProductKey(OLD, userId, Date.parse('2026-11-02T10:00:00.000Z'))
const seal = (text: string, context: string) => ({ key: key.id, bytes: key.seal(text, context) })

/** Returns a record as the services write it. */
function written(fact: { readonly id: string; readonly type: string }) {
  const { value, headers } = sealedRecord(fact, key)
  const reading = readUserFact({ value, headers })
  if (reading.outcome !== 'read' || reading.fact.type === 'UserErased') throw new Error(`${fact.type} is unreadable`)
  return { value: String(value), fact: reading.fact }
}

const keysWith = (variable: string | undefined, texts = new Map([[key.name, key.wrapped]])) =>
  createUserKeys(texts, createSecretKeys(variable))

it('the auditor opens the sealed members of records with its own code', () => {
  for (const fact of [identify, event, answerGiven({ answers: { reason: 'total' } })]) {
    const { value, fact: read } = written(fact)
    expect(value).not.toMatch(/"ada"|"pro"|"Firefox"|"total"/)
    expect(keysWith(OLD).open(read)).toEqual({ outcome: 'opened', fact })
  }
})

it('the auditor knows each key of the variable, in any order', () => {
  for (const variable of [`${NEW},${OLD}`, ` ${OLD.toUpperCase()} , ${NEW}\n`])
    expect(keysWith(variable).open(written(event).fact)).toMatchObject({ outcome: 'opened' })
})

it('the auditor opens records without sealed members, and needs no key for them', () => {
  const plain = eventTracked()
  expect(keysWith(undefined, new Map()).open(written(plain).fact)).toEqual({ outcome: 'opened', fact: plain })
})

it('the audit names the variable that lacks a key', () => {
  const { fact } = written(event)
  expect(() => keysWith(undefined).open(fact)).toThrow(/NEXTVISIT_SECRET_KEY is not set/)
  expect(() => keysWith(NEW).open(fact)).toThrow(/NEXTVISIT_SECRET_KEY lacks the key [0-9a-f]{16}/)
})

it('a record whose key is destroyed is lost', () => {
  expect(keysWith(OLD, new Map()).open(written(event).fact)).toEqual({ outcome: 'lost' })
})

it('sealed members are damaged if they were moved, changed, or are none of the type', () => {
  const read = written(identify).fact as ClearIdentify
  const readEvent = written(event).fact as ClearEvent
  const withText = <Fact extends ClearIdentify | ClearEvent>(text: string, fact: Fact) => ({
    ...fact,
    sealed: seal(text, `${fact.id}/${userId}`),
  })
  const bytes = Buffer.from(read.sealed?.bytes ?? '', 'base64')
  bytes[40] = (bytes[40] ?? 0) ^ 1
  for (const damaged of [
    { ...read, id: event.id },
    { ...read, sealed: { key: key.id, bytes: bytes.toString('base64') } },
    { ...read, sealed: { key: key.id, bytes: '' } },
    withText('{"userName":"ada"}', read),
    withText('no JSON', read),
    withText('{"userName":"a\\u0000","operations":{},"device":{}}', read),
    withText('{"properties":[]}', readEvent),
    withText('{"properties":null}', readEvent),
    withText('{"properties":{"items":["\\u0000"]}}', readEvent),
  ])
    expect(keysWith(OLD).open(damaged)).toMatchObject({ outcome: 'damaged' })
  const ofOther = createProductKey(OLD, event.id, 0).wrapped
  expect(keysWith(OLD, new Map([[key.name, ofOther]])).open(read)).toMatchObject({ outcome: 'damaged' })
  // Additional members of the text are ignored, and replace nothing.
  const more = withText('{"userName":"ada","operations":{},"device":{},"userId":"other"}', read)
  expect(keysWith(OLD).open(more)).toMatchObject({ outcome: 'opened', fact: { userId, userName: 'ada' } })
})
