import { describe, expect, it } from 'vitest'
import { auditHistory, type History } from '../test/audit-history.ts'
import {
  answered,
  answerTo,
  at,
  delivered,
  idOf,
  nps,
  outcomeOf,
  queued,
  queueRow,
  revision,
  track,
  visit,
} from '../test/form-records.ts'

const first = queued(0)
const [partial, finished, again] = [
  answerTo(first, 6, { status: 'partial' }),
  answerTo(first, 7),
  answerTo(first, 8, { status: 'dismissed' }),
]

async function kindsOf(story: Partial<History>) {
  const catalog = [revision(1, -60, [nps({ frequency: { repeat: 'always' } })])]
  const { findings } = await auditHistory({ catalog, records: [], forms: [], ...story })
  return findings.map(({ kind }) => kind)
}

describe('the outcomes of answers in the audit', () => {
  it('are recorded until the first that ends the row, then late, and unmatched without a row', async () => {
    const stranger = answerTo(queued(30), 9)
    const records = [track(0), partial, finished, again, stranger]
    const [begun, ended, late, unmatched] = [
      outcomeOf(partial, 'recorded'),
      outcomeOf(finished, 'recorded'),
      outcomeOf(again, 'late'),
      outcomeOf(stranger, 'unmatched'),
    ]
    expect(await kindsOf({ records, forms: [first, begun, ended, late, unmatched, ended] })).toEqual([])
    for (const wrong of [
      [outcomeOf(partial, 'late'), ended, late, unmatched],
      [begun, ended, outcomeOf(again, 'recorded'), unmatched],
      [begun, ended, late, outcomeOf(stranger, 'recorded')],
    ])
      expect(await kindsOf({ records, forms: [first, ...wrong] })).toEqual(['form-events: outcome'])
    const ofAnother = { ...finished, formId: 'other' }
    expect(
      await kindsOf({ records: [track(0), ofAnother], forms: [first, outcomeOf(ofAnother, 'unmatched')] }),
    ).toEqual([])
  })

  it('belong to one answer each, and repeat its members', async () => {
    const outcome = outcomeOf(finished, 'recorded')
    expect(await kindsOf({ records: [track(0)], forms: [first, outcome] })).toEqual(['form-events: no answer'])
    expect(await kindsOf({ records: [track(0), finished], forms: [first] })).toEqual(['form-events: no outcome'])
    for (const special of [
      { status: 'dismissed' as const },
      { revision: 2 },
      { language: 'de' },
      { environment: 'T' as const },
      { elements: {} },
      { sealed: { key: idOf('x'), bytes: 'c2VhbGVk' } },
    ])
      expect(
        await kindsOf({ records: [track(0), finished], forms: [first, outcomeOf(finished, 'recorded', special)] }),
      ).toEqual(['form-events: answer'])
    // The same id a day later is another answer.
    const later = { ...finished, received: at(24 * 60 + 7) }
    const both = { records: [track(0), finished, later], forms: [first, outcome, outcomeOf(later, 'late')] }
    expect(await kindsOf(both)).toEqual([])
  })

  it('are in the row: status, start and end, and an open row that is ended leaves the queue', async () => {
    const records = [track(0), visit(5), answered(first, 5), partial, finished]
    const forms = [first, delivered(first, 5), outcomeOf(partial, 'recorded'), outcomeOf(finished, 'recorded')]
    const shown = { state: 'delivered', shownAt: at(5), visitId: idOf(5) }
    const row = queueRow(first, { ...shown, answerStatus: 'finished', startedAt: at(6), endedAt: at(7) })
    expect(await kindsOf({ records, forms, queue: [row] })).toEqual([])
    for (const [column, value] of [
      ['answerStatus', 'partial'],
      ['startedAt', at(7)],
      ['endedAt', null],
    ] as const)
      expect(await kindsOf({ records, forms, queue: [{ ...row, [column]: value }] })).toEqual([
        `forms.queue: ${column}`,
      ])

    const unseen = { records: [track(0), finished], forms: [first, outcomeOf(finished, 'recorded')] }
    const ended = { answerStatus: 'finished', startedAt: at(7), endedAt: at(7) }
    expect(await kindsOf({ ...unseen, queue: [queueRow(first, { ...ended, state: 'answered' })] })).toEqual([])
    expect(await kindsOf({ ...unseen, queue: [queueRow(first, ended)] })).toEqual(['forms.queue: state'])
  })

  it('free the slot of a row that they end, and no visit is shown it any more', async () => {
    const records = [track(0), finished, track(20)]
    const forms = [first, outcomeOf(finished, 'recorded'), queued(20)]
    expect(await kindsOf({ records, forms })).toEqual([])
    const begun = { ...finished, status: 'partial' as const }
    const stillOpen = {
      records: [track(0), begun, track(20)],
      forms: [first, outcomeOf(begun, 'recorded'), queued(20)],
    }
    expect(await kindsOf(stillOpen)).toEqual(['form-events: two waiting', 'form-events: refused'])
    const shown = [...records.slice(0, 2), visit(10), answered(first, 10)]
    expect(await kindsOf({ records: shown, forms: [...forms.slice(0, 2), delivered(first, 10)] })).toEqual([
      'form-events: shown by mistake',
    ])
    // The visit came before the answer, and its confirmation after it.
    const confirmed = [track(0), visit(5), finished, answered(first, 5)]
    expect(await kindsOf({ records: confirmed, forms: [...forms.slice(0, 2), delivered(first, 5)] })).toEqual([])
  })
})
