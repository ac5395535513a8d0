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
  over,
  queued,
  queueRow,
  revision,
  track,
  visit,
} from '../test/form-records.ts'
import type { FormFact, FormQueued } from './facts.ts'
import type { FormInFile } from './workspace-file.ts'

interface Story extends Partial<History> {
  readonly form?: Partial<FormInFile>
}

/** Returns the kinds of the findings. */
async function kindsOf({ form = {}, ...story }: Story) {
  const always = nps({ frequency: { repeat: 'always' }, ...form })
  const history = { catalog: [revision(1, -60, [always])], records: [], forms: [], ...story }
  const { findings } = await auditHistory(history)
  return findings.map(({ kind }) => kind)
}

const first = queued(0)
const [again] = [queued(20)]

describe('the evaluator’s decisions in the audit', () => {
  it('are correct if each has its cause and its ids, even if the outbox repeats them', async () => {
    expect(await kindsOf({ forms: [first, first], records: [track(0)] })).toEqual([])
  })

  it('need a record that produces their id and instant', async () => {
    expect(await kindsOf({ forms: [first] })).toEqual(['form-events: cause'])
    expect(await kindsOf({ forms: [queued(0, { queuedId: idOf('x') })], records: [] })).toEqual([
      'form-events: id',
      'form-events: cause',
    ])
    expect(await kindsOf({ forms: [queued(0, { id: idOf('x') })], records: [track(0)] })).toEqual(['form-events: id'])
    const ofAnother = { forms: [{ ...first, userId: idOf('bob') }], records: [track(0)] }
    expect(await kindsOf(ofAnother)).toEqual(['form-events: not queued', 'form-events: cause'])
    const moved = queued(0, { at: at(1), showFrom: at(1) })
    expect(await kindsOf({ forms: [moved], records: [track(0)] })).toEqual(['form-events: at'])
  })

  it('name the record that has queued their row, if any', async () => {
    const kindsAfter = (special: object) =>
      kindsOf({
        forms: [first, { ...delivered(first, 5), ...special }],
        records: [track(0), visit(5), answered(first, 5)],
      })
    expect(await kindsAfter({})).toEqual([])
    expect(await kindsAfter({ causeId: undefined }), 'written by an earlier version').toEqual([])
    expect(await kindsAfter({ causeId: idOf('x') })).toEqual(['form-events: causeId'])
    const answer = answerTo(first, 1)
    const kindsOfAnswer = (causeId: string | undefined) => {
      const outcome = outcomeOf(answer, 'recorded', causeId === undefined ? {} : { causeId })
      return kindsOf({ forms: [first, outcome], records: [track(0), answer] })
    }
    expect(await kindsOfAnswer(first.causeId)).toEqual(await kindsOfAnswer(undefined))
    expect(await kindsOfAnswer(idOf('x'))).toContain('form-events: causeId')
  })

  it('do not queue a form again while it waits', async () => {
    expect(await kindsOf({ forms: [first, again], records: [track(0), track(20)] })).toEqual([
      'form-events: two waiting',
      'form-events: refused',
    ])
    const expiring = queued(0, { expiresAt: at(10) })
    const inTurn = [expiring, over(expiring, 'FormExpired', 10), queued(20, { expiresAt: at(30) })]
    const form = { expiresAfter: '10m', frequency: { repeat: 'once' } } as const
    expect(await kindsOf({ form, forms: inTurn, records: [track(0), track(20)] })).toEqual([])
  })

  it('queue a form only as often as its frequency allows', async () => {
    const forms = [first, delivered(first, 5), again]
    const records = [track(0), visit(5), answered(first, 5), track(20)]
    expect(await kindsOf({ forms, records })).toEqual([])
    const form = { frequency: { repeat: 'once' } } as const
    expect(await kindsOf({ form, forms, records })).toEqual(['form-events: too often', 'form-events: refused'])
    const untilAnswered = { frequency: { until: 'answered' } } as const
    expect(await kindsOf({ form: untilAnswered, forms, records })).toEqual([])
  })

  it.each<[string, Partial<FormInFile>]>([
    ['priority', { priority: 5 }],
    ['delay', { delay: '1h' }],
    ['expiry', { expiresAfter: '1d' }],
  ])('take a form’s %s from the catalog', async (_what, form) => {
    const records = [track(0)]
    expect(await kindsOf({ form, forms: [first], records })).toEqual(['form-events: not as configured'])
    const asConfigured = { priority: 5, showFrom: at(60), expiresAt: at(24 * 60) }
    const both = { priority: 5, delay: '1h', expiresAfter: '1d' }
    expect(await kindsOf({ form: both, forms: [queued(0, asConfigured)], records })).toEqual([])
  })

  it('take it from the revision that they name', async () => {
    const catalog = [revision(1, -60, [nps()]), revision(2, -30, [nps({ priority: 5 })])]
    const of = (catalogRevision: number, priority: number) =>
      kindsOf({ catalog, forms: [queued(0, { catalogRevision, priority })], records: [track(0)] })
    expect(await of(2, 5)).toEqual([])
    expect(await of(1, 0)).toEqual([])
    expect(await of(2, 0)).toEqual(['form-events: not as configured'])
    expect(await of(3, 0)).toContain('form-events: not as configured')
  })
})

const byMistake = (type: string) => [`form-events: ${type} by mistake`]

describe('the end of a row', () => {
  const records = [track(0)]
  const form = { expiresAfter: '10m' }
  const expiring = queued(0, { expiresAt: at(10) })

  it('belongs to a queued row and its form', async () => {
    expect(await kindsOf({ forms: [over(first, 'FormCancelled', 1)] })).toEqual(['form-events: never queued'])
    const { causeId: _, ...expired } = over(expiring, 'FormExpired', 10)
    const other = { ...expired, formId: 'other' } as FormFact
    expect(await kindsOf({ form, forms: [expiring, other], records })).toEqual(byMistake('FormExpired'))
  })

  it('is an expiry, at the due time or later, if the form expires', async () => {
    const expiredAt = (minutes: number) =>
      kindsOf({ form, forms: [expiring, over(expiring, 'FormExpired', minutes)], records })
    expect(await expiredAt(10)).toEqual([])
    expect(await expiredAt(600)).toEqual([])
    expect(await expiredAt(9.99)).toEqual(byMistake('FormExpired'))
    const never = [first, over(first, 'FormExpired', 600)]
    expect(await kindsOf({ forms: never, records })).toEqual(byMistake('FormExpired'))
  })

  it('happens once, and not after a delivery', async () => {
    const expired = over(expiring, 'FormExpired', 10)
    const cancelled = over(expiring, 'FormCancelled', 10)
    const catalog = [revision(1, -60, [nps(form)]), revision(2, 5, [])]
    expect(await kindsOf({ catalog, forms: [expiring, expired, cancelled], records })).toEqual(
      byMistake('FormCancelled'),
    )
    const shown = { forms: [expiring, delivered(expiring, 5), expired] }
    const answers = [...records, visit(5), answered(expiring, 5)]
    expect(await kindsOf({ form, ...shown, records: answers })).toEqual(byMistake('FormExpired'))
    // An answer may follow it.
    expect(await kindsOf({ form, forms: [expiring, expired, delivered(expiring, 5)], records: answers })).toEqual([])
  })

  it('is a cancellation if a later revision lacks the form, or has it disabled', async () => {
    const forms = [first, over(first, 'FormCancelled', 10)]
    const [present, disabled] = [revision(1, -60, [nps()]), nps({ enabled: false })]
    const cancelledWith = (...catalog: object[]) => kindsOf({ catalog, forms, records })
    expect(await cancelledWith(present, revision(2, 9, []))).toEqual([])
    expect(await cancelledWith(present, revision(2, 8, [disabled]), revision(3, 9, [nps()]))).toEqual([])
    // The clock of the applying machine may be ahead of the evaluator's.
    expect(await cancelledWith(present, revision(2, 10.2, []))).toEqual([])
    expect(await cancelledWith(present, revision(2, 11, []))).toEqual(byMistake('FormCancelled'))
    expect(await cancelledWith(present, revision(2, 9, [nps({ priority: 1 })]))).toEqual(byMistake('FormCancelled'))
  })

  it('is a delivery at the instant of the visit that was answered with it', async () => {
    const [forms, visited] = [
      [first, delivered(first, 5)],
      [track(0), visit(5)],
    ]
    expect(await kindsOf({ forms, records: [...visited, answered(first, 5)] })).toEqual([])
    expect(await kindsOf({ forms, records: visited })).toEqual(['form-events: no visit'])
    const atAnother = { ...delivered(first, 5), at: at(5.1) }
    expect(await kindsOf({ forms: [first, atAnother], records: [...visited, answered(first, 5)] })).toEqual([
      'form-events: no visit',
    ])
    expect(await kindsOf({ forms: [first], records: [...visited, answered(first, 5)] })).toEqual([
      'form-events: not delivered',
    ])
    const answer = answered(first, 5)
    const late = { records: [...visited, answer], late: [answer] }
    expect(await kindsOf({ forms, ...late })).toEqual([])
    expect(await kindsOf({ forms: [first], ...late })).toEqual(['form-events: not delivered'])
    expect(await kindsOf({ records: [visit(5), answered(first, 5)] })).toEqual(['user-events: never queued'])
  })
})

const onOffer = (row: FormQueued) => queueRow(row, { state: 'offered', offeredAt: at(5) })

describe('a row of the queue', () => {
  const [forms, records] = [[first], [track(0), visit(5)]]
  const kindsWith = (special: object, story: Story = {}) =>
    kindsOf({ forms, records, queue: [queueRow(first, special)], ...story })

  it('matches its facts', async () => {
    expect(await kindsWith({})).toEqual([])
    expect(await kindsWith({ priority: 3 })).toEqual(['forms.queue: priority'])
    expect(await kindsWith({ state: 'expired' })).toEqual(['forms.queue: state'])
    expect(await kindsOf({ forms, records, queue: [] })).toEqual(['forms.queue: missing'])
  })

  it('is in the partition of its user', async () => {
    expect(await kindsWith({ partition: 4 })).toEqual(['forms.queue: partition'])
  })

  it('is on offer only to a visit that can have been offered it', async () => {
    const offered = (minutes: number, story: Story = {}) =>
      kindsWith({ state: 'offered', offeredAt: at(minutes) }, story)
    const wrong = ['forms.queue: offeredAt']
    expect(await offered(5)).toEqual([])
    expect(await offered(6)).toEqual(wrong)
    expect(await kindsWith({ state: 'offered' })).toEqual(wrong)
    expect(await kindsWith({ offeredAt: at(5) })).toEqual(wrong)
    // Its delay was not over.
    const delayed = queued(0, { showFrom: at(60) })
    const row = queueRow(delayed, { state: 'offered', offeredAt: at(5) })
    expect(await kindsOf({ form: { delay: '1h' }, forms: [delayed], records, queue: [row] })).toEqual(wrong)
  })

  it('is the only row on offer to its visit', async () => {
    const survey = { id: 'survey', triggers: [{ event: 'Searched' }] }
    const catalog = (minutes: number) => [
      revision(1, -60, [nps({ endsAt: at(600) }), survey]),
      // Either row may have been the first, because the evaluator may have had either revision.
      revision(2, minutes, [nps({ endsAt: at(1) }), survey]),
    ]
    const other = queued(0, { formId: 'survey' })
    const story = { catalog: catalog(5), forms: [first, other], records }
    expect(await kindsOf({ ...story, queue: [onOffer(first), queueRow(other)] })).toEqual([])
    expect(await kindsOf({ ...story, queue: [queueRow(first), onOffer(other)] })).toEqual([])
    expect(await kindsOf({ ...story, queue: [onOffer(first), onOffer(other)] })).toEqual(['forms.queue: offeredAt'])
  })

  it('is changed by ticks within a minute, even without other activity', async () => {
    const form = { expiresAfter: '10m' }
    const expiring = queued(0, { expiresAt: at(10) })
    const expires = (asOf: string, isAtRest = true) =>
      kindsOf({ form, forms: [expiring], records, queue: [queueRow(expiring, { asOf })], isAtRest })
    expect(await expires(at(11))).toEqual([])
    expect(await expires(at(11.1))).toEqual(['forms.queue: overdue'])
    expect(await expires(at(11.1), false)).toEqual([])
    const offered = { state: 'offered', offeredAt: at(5) }
    expect(await kindsWith({ ...offered, asOf: at(6.5) }, { isAtRest: true })).toEqual([])
    expect(await kindsWith({ ...offered, asOf: at(6.6) }, { isAtRest: true })).toEqual(['forms.queue: overdue'])
    const catalog = [revision(1, -60, [nps()]), revision(2, 10, [])]
    expect(await kindsWith({ asOf: at(10.9) }, { catalog, isAtRest: true })).toEqual([])
    expect(await kindsWith({ asOf: at(11.1) }, { catalog, isAtRest: true })).toEqual(['forms.queue: overdue'])
    const backAgain = [...catalog, revision(3, 11, [nps()])]
    expect(await kindsWith({ asOf: at(11.1) }, { catalog: backAgain, isAtRest: true })).toEqual([])
  })
})

describe('the queue of an erased user', () => {
  const before = queued(0)
  it('has no rows, and may queue the form again', async () => {
    const ended = { fenced: [track(0)], records: [], forms: [before] }
    expect(await kindsOf({ ...ended, queue: [] })).toEqual([])
    expect(await kindsOf({ ...ended, queue: [queueRow(before)] })).toEqual(['forms.queue: not in the log'])
    const after = queued(10)
    const returned = {
      ...ended,
      form: { frequency: { repeat: 'once' as const } },
      records: [track(10)],
      forms: [before, after],
    }
    expect(await kindsOf({ ...returned, queue: [queueRow(after)] })).toEqual([])
    expect(await kindsOf({ ...returned, queue: [] })).toEqual(['forms.queue: missing'])
  })

  it('may still be named by records in flight', async () => {
    const inFlight = {
      forms: [before],
      fenced: [track(0)],
      records: [visit(4), answered(before, 4)],
      queue: [],
    }
    expect(await kindsOf(inFlight)).toEqual([])
  })
})
