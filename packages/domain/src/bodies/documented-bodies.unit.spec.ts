import { AnswersBody, BatchBody, IdentifyUserBody, TrackEventBody, VisitBody } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { bodiesAround } from '../../test/body-probes.ts'
import { parseAnswerBody } from './answer-body.ts'
import { parseBatch, parseBatchItem } from './batch-body.ts'
import { parseIdentifyBody, parseVisitBody } from './identify-body.ts'
import type { JsonObject } from './json-object.ts'
import { parseTrackBody } from './track-body.ts'

const NOW_MS = Date.parse('2026-01-31T09:30:00Z')

type Rules = (body: JsonObject) => boolean

const identify: Rules = (body) => parseIdentifyBody(body).outcome === 'ok'
const visit: Rules = (body) => parseVisitBody(body).outcome === 'ok'
const track: Rules = (body) => parseTrackBody(body, NOW_MS).outcome === 'ok'
const answers: Rules = (body) => parseAnswerBody(body).outcome === 'ok'
const batch: Rules = (body) => {
  const parsed = parseBatch(body)
  if (parsed.outcome !== 'ok') return false
  return parsed.items.map(parseBatchItem).every((item) => {
    if (item.outcome !== 'ok') return false
    return item.type === 'identify' ? identify(item.body) : track(item.body)
  })
}

/** Strings for the rules that only the texts of the document describe. */
const samples = {
  $countryCode: ['DE', 'de'],
  $timezone: ['Europe/Berlin'],
  offerId: ['0192aa00-0000-5000-8000-000000000001', '0192AA00-0000-5000-8000-000000000001', '0192aa00', ''],
  formId: ['nps', 'nps-2', 'NPS', 'a/b', '', 'a'.repeat(63), 'a'.repeat(64)],
  occurredAt: ['2026-01-31T09:30:00Z'],
  eventName: ['a', '', 'a'.repeat(99), 'a'.repeat(100), 'a'.repeat(101), `a${'😀'.repeat(99)}`, `a${'😀'.repeat(100)}`],
}
/** The ingest checks the key, as it checks the header. `checkAnswers` checks the answers against the content of the form. */
const without = ['idempotencyKey', 'answers']

// One body for each place and bound of the schema, so the same drift is found in each run. The schemas are the source of the
// published document. The rules are written by hand, for speed and for messages that name the invalid member.
describe('the documented schema', () => {
  it.each([
    ['of an identify', IdentifyUserBody, identify],
    ['of a visit', VisitBody, visit],
    ['of a tracked event', TrackEventBody, track],
    ['of an answer', AnswersBody, answers],
    ['of a batch', BatchBody, batch],
  ] as const)('%s takes and refuses the same bodies as the rules', (_name, schema, rules) => {
    const bodies = bodiesAround(schema.toJSONSchema({ io: 'input' }), { samples, without })
    const [taken, refused] = [true, false].map((isTaken) => bodies.filter((body) => rules(body) === isTaken))
    const isDocumented = (body: JsonObject) => schema.safeParse(body).success
    expect(taken?.filter((body) => !isDocumented(body)).map(abridge), 'taken, but not documented').toEqual([])
    expect(refused?.filter(isDocumented).map(abridge), 'documented, but refused').toEqual([])
    expect(taken?.length).toBeGreaterThan(30)
    expect(refused?.length).toBeGreaterThan(30)
  })

  it.each([250, 251])('takes and refuses the same number of operations: %i', (count) => {
    const $set = Object.fromEntries(Array.from({ length: count - 2 }, (_, index) => [`trait ${index}`, index]))
    const body = { userName: 'ada', userAttributes: { $set, $increment: { logins: 1 }, $unset: ['plan'] } }
    expect(identify(body)).toBe(count === 250)
    expect(IdentifyUserBody.safeParse(body).success).toBe(count === 250)
  })
})

/** Returns a body as text, without the middle of a long one. */
function abridge(body: JsonObject): string {
  const text = JSON.stringify(body)
  return text.length > 200 ? `${text.slice(0, 150)}…${text.slice(-40)} (${text.length} characters)` : text
}
