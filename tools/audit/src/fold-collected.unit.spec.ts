import { createHash } from 'node:crypto'
import {
  answerGiven,
  formAnswered,
  formDelivered,
  formExpired,
  formQueued,
  queueErased,
} from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { createProductKey, sealedRecord } from '../test/product.ts'
import { createFences } from './erasures.ts'
import { createFindings } from './findings.ts'
import { createCollectedFold } from './fold-collected.ts'
import { createSecretKeys } from './secret-keys.ts'
import type { Snapshot } from './snapshot.ts'
import { createUserKeys } from './user-keys.ts'

const [SECRET, PARTITION] = ['aa'.repeat(32), 3]
const DAY = '2026-11-02'
const at = (minutes: number) => new Date(Date.parse(`${DAY}T10:00:00.000Z`) + minutes * 60_000).toISOString()
const bob = { userName: 'bob' }

const score = (value: number, minutes: number, special = {}) =>
  formAnswered(
    answerGiven({ elements: { score: 'nps' }, answers: { score: value }, received: at(minutes), ...special }),
  )
const queued = formQueued({ at: at(0), causeOffset: 1 })
const ofAda = [
  queued,
  formDelivered({ at: at(1) }),
  score(3, 2, { status: 'partial' }),
  score(9, 3, { language: 'de' }),
]
const ofBob = [
  formQueued({ ...bob, at: at(0), causeOffset: 2 }),
  formExpired({ ...bob, at: at(4) }),
  score(7, 5, { ...bob, status: 'partial' }),
]
const erasure = queueErased({ ...bob, at: at(6), causeOffset: 8 })

type Rows = Record<string, readonly object[]>
const FORM = ['acme', 'shop', 'nps', 'P']
const count = (...key: readonly (string | number)[]) => ({ key: [...FORM, ...key], count: 1 })
const step = (name: string, language: string) => [
  count(language, name, PARTITION),
  { ...count(DAY, language, name, PARTITION), isDay: true },
]
const steps = [step('queued', ''), step('delivered', 'en'), step('started', 'en'), step('finished', 'de')].flat()
const element = (value: string) => count('de', 'score', 'nps', PARTITION, value)
const elementDay = (value: string) => count(DAY, 'de', 'score', 'nps', PARTITION, value)
/** The rows of 120 seconds. */
const times = [
  [1, 120],
  [64, 64],
  [4_096, 0],
  [262_144, 0],
] as const

/** The rows of ada's offer. */
const { organization, project, userId, queuedId: id, formId, causeId } = queued
const ROWS: Rows = {
  offers: [
    {
      organization,
      project,
      userId,
      id,
      formId,
      environment: 'P',
      language: 'de',
      revision: 1,
      causeId,
      queuedAt: at(0),
      deliveredAt: at(1),
      expiredAt: null,
      startedAt: at(2),
      answerId: ofAda[2]?.id,
      endedAt: at(3),
      status: 'finished',
      answers: '{"score":9}',
      answerBytes: 11,
      counted: '[["score","nps","9"],["score","nps",""]]',
    },
  ],
  funnels: steps.filter((row) => !('isDay' in row)),
  funnel_days: steps.filter((row) => 'isDay' in row),
  answer_times: times.map(([span, from]) => count('de', span, from, PARTITION)),
  answer_time_days: times.map(([span, from]) => count(DAY, 'de', span, from, PARTITION)),
  elements: [element(''), element('9')],
  element_days: [elementDay(''), elementDay('9')],
  erased_elements: [],
  erased_element_days: [],
}
/** Rows and counts that bob has left. */
const erased = (...day: string[]) => ({ ...count(...day, '', 'score', 'nps', PARTITION), answers: 1, values: 1 })
const WITH_BOB: Rows = {
  ...ROWS,
  funnels: [
    { ...count('', 'queued', PARTITION), count: 2 },
    count('', 'started', PARTITION),
    count('', 'expired', PARTITION),
    ...(ROWS['funnels'] ?? []).slice(1),
  ],
  funnel_days: [
    { ...count(DAY, '', 'queued', PARTITION), count: 2 },
    count(DAY, '', 'started', PARTITION),
    count(DAY, '', 'expired', PARTITION),
    ...(ROWS['funnel_days'] ?? []).slice(1),
  ],
  erased_elements: [erased()],
  erased_element_days: [erased(DAY)],
  erased_users: [
    {
      organization,
      project,
      userId: erasure.userId,
      partition: PARTITION,
      offset: 7,
      causeOffset: 8,
      keysUntil: erasure.keysUntil,
      erasureId: erasure.erasureId,
    },
  ],
}

interface Audited {
  /** Users whose keys are destroyed. */
  readonly lost?: readonly string[]
  /** Offset of the checkpoint. Default: the end. */
  readonly until?: number
  readonly letters?: readonly { readonly offset: bigint; readonly state: string }[]
}

/** Audits rows against records that every user has sealed with a key created at ten. */
async function audited(
  facts: readonly { readonly id: string; readonly type: string; readonly userId: string }[],
  tables: Rows,
  { lost = [], until = facts.length, letters = [] }: Audited = {},
) {
  const keys = new Map(facts.map(({ userId: of }) => [of, createProductKey(SECRET, of, Date.parse(at(0)))] as const))
  const kept = [...keys].filter(([of]) => !lost.includes(of)).map(([, { name, wrapped }]) => [name, wrapped] as const)
  const opening = createUserKeys(new Map(kept), createSecretKeys(SECRET))
  const findings = createFindings()
  const fences = createFences('QueueErased')
  const end = BigInt(facts.length)
  const rows = async function* (sql: string) {
    yield* tables[/FROM (\w+)/.exec(sql)?.[1] ?? ''] ?? []
  }
  const records = facts.map((fact, index) => {
    const key = keys.get(fact.userId)
    if (!key) throw new Error('Every user has a key')
    const place = { topic: 'form-events', partition: PARTITION, offset: BigInt(index), timestampMs: 0 }
    return { ...place, key: Buffer.from(fact.userId), ...sealedRecord(fact, key) }
  })
  const deadLetters = new Map(
    letters.map(({ offset, state }) => {
      const { value = '' } = records[Number(offset)] ?? {}
      const valueSha256 = createHash('sha256').update(value).digest('hex')
      return [`${PARTITION}/${offset}`, { partition: PARTITION, offset, state, valueSha256 }]
    }),
  )
  const checkpoints = new Map([[PARTITION, BigInt(until)]])
  const snapshot = { service: 'answer-collector', checkpoints, deadLetters, rows } as unknown as Snapshot
  records.forEach(fences.see)
  const log = new Map([[PARTITION, { low: 0n, high: end }]])
  const fold = createCollectedFold({ snapshot, log, fences, isAtRest: false, findings })
  for (const record of records) fold.fold(record, { isMine: () => true, isFirstPass: true, keys: opening })
  await fold.compareUsers({ first: '', last: 'z' })
  await fold.compareShared()
  return { kinds: findings.byKind().map(({ kind }) => kind), findings: findings.byKind(), lag: fold.lag }
}

const inState = (state: string) => ({ letters: [{ offset: 0n, state }] })

describe('the audit of the answer-collector', () => {
  it('recomputes its rows, and ignores records that come again', async () => {
    expect(await audited([...ofAda, ...ofAda, score(1, 9)], ROWS)).toMatchObject({ findings: [], lag: 0 })
  })

  it('counts an unmatched answer once, also if it comes again after days', async () => {
    const stray = { ...score(2, 1), outcome: 'unmatched' }
    const later = { ...score(2, 5 * 1_440), outcome: 'unmatched' }
    const rows = {
      funnels: [{ ...count('', 'unmatched', PARTITION), count: 2 }],
      funnel_days: [count(DAY, '', 'unmatched', PARTITION), count('2026-11-07', '', 'unmatched', PARTITION)],
    }
    expect((await audited([stray, later, stray, later], rows)).findings).toEqual([])
  })

  it('counts no answer as unmatched that was recorded before', async () => {
    const again = ofAda.filter(({ type }) => type === 'FormAnswered').map((fact) => ({ ...fact, outcome: 'unmatched' }))
    expect((await audited([...ofAda, ...again], ROWS)).findings).toEqual([])
  })

  it('finds a changed row in each table', async () => {
    const changed = (table: string, change: object) => ({
      ...WITH_BOB,
      [table]: (WITH_BOB[table] ?? []).map((row, index) => (index === 0 ? { ...row, ...change } : row)),
    })
    const story = [...ofAda, ...ofBob, erasure]
    expect(await audited(story, WITH_BOB)).toMatchObject({ findings: [] })
    for (const [column, value] of Object.entries({
      formId: 'other',
      environment: 'T',
      language: null,
      revision: 2,
      causeId: id,
      queuedAt: at(1),
      deliveredAt: null,
      expiredAt: at(1),
      startedAt: at(3),
      answerId: id,
      endedAt: null,
      status: 'partial',
      answers: '{"score":8}',
      answerBytes: 12,
      counted: '[["score","nps","9"]]',
    }))
      expect((await audited(story, changed('offers', { [column]: value }))).kinds).toEqual([
        `answers.offers: ${column}`,
      ])
    for (const table of ['funnels', 'funnel_days', 'answer_times', 'answer_time_days', 'elements', 'element_days'])
      expect((await audited(story, changed(table, { count: 5 }))).kinds).toEqual([`answers.${table}: count`])
    for (const table of ['erased_elements', 'erased_element_days'])
      for (const column of ['answers', 'values'])
        expect((await audited(story, changed(table, { [column]: 0 }))).kinds).toEqual([`answers.${table}: ${column}`])
    for (const column of ['offset', 'causeOffset'])
      expect((await audited(story, changed('erased_users', { [column]: 5 }))).kinds).toEqual([
        `answer-collector erased_users: ${column}`,
      ])
    for (const table of Object.keys(WITH_BOB))
      expect((await audited(story, { ...WITH_BOB, [table]: [] })).kinds).toEqual([
        table === 'erased_users' ? 'answer-collector erased_users: missing' : `answers.${table}: missing`,
      ])
  })

  it('names no values of answers', async () => {
    for (const [table, moved, day] of [
      ['elements', [element(''), element('10')], ''],
      ['element_days', [elementDay(''), elementDay('10')], `${DAY}/`],
    ] as const) {
      const { findings } = await audited(ofAda, { ...ROWS, [table]: moved })
      const about = `acme/shop/nps/P/${day}de/score/nps/${PARTITION}`
      expect(findings).toMatchObject([
        { kind: `answers.${table}: not in the log`, examples: [{ about }] },
        { kind: `answers.${table}: missing`, examples: [{ about }] },
      ])
    }
  })

  it('counts what an erased user has left, without the keys, and nothing that comes again after the erasure', async () => {
    const lost = [erasure.userId]
    const again = [...ofAda, ...ofBob, erasure, ofBob[0], { ...score(7, 9, bob), outcome: 'unmatched' }, erasure]
    const facts = again.filter((fact) => fact !== undefined)
    expect((await audited(facts, WITH_BOB, { lost })).findings).toEqual([])
    expect(
      (await audited(facts, { ...WITH_BOB, offers: [...(WITH_BOB['offers'] ?? []), ...(ROWS['offers'] ?? [])] })).kinds,
    ).toEqual(['answers.offers: not in the log'])
  })

  it('compares no values of a user whose keys are destroyed before the collector has folded the erasure', async () => {
    const [offer] = ROWS['offers'] ?? []
    const unread = { ...offer, answers: '{}', answerBytes: 2, counted: '[]' }
    const lost = { lost: [userId], until: ofAda.length }
    const ahead = [...ofAda, queueErased({ at: at(9) })]
    expect(await audited(ahead, ROWS, lost)).toMatchObject({ findings: [], lag: 1 })
    expect(
      (await audited(ahead, { ...ROWS, offers: [unread], elements: [], element_days: [] }, lost)).findings,
    ).toEqual([])
    expect((await audited(ahead, { ...ROWS, offers: [{ ...unread, status: null }] }, lost)).kinds).toEqual([
      'answers.offers: status',
    ])
  })

  it('leaves out dead letters, and what follows from one that was retried', async () => {
    expect((await audited([queued], {}, inState('discarded'))).findings).toEqual([])
    expect((await audited(ofAda, ROWS, inState('retried'))).findings).toEqual([])
    expect((await audited(ofAda, {}, inState('retried'))).findings).toEqual([])
    expect((await audited([queued], {}, inState('dead'))).kinds).toEqual(['dead letters: readable'])
    expect((await audited([queued], ROWS, inState('discarded'))).kinds).toContain('answers.offers: not in the log')
  })
})
