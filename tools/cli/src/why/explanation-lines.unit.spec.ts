import { Form, type FormDecision, type GateOutcome, type QueuedForm } from '@nextvisit/contracts'
import { explainForms } from '@nextvisit/domain'
import { describe, expect, it } from 'vitest'
import { explanationLines, queuedLine } from './explanation-lines.ts'

const AT = '2026-11-02T10:00:00.000Z'
const live: GateOutcome = {
  gate: 'live',
  passed: true,
  compared: { enabled: true, startsAt: null, endsAt: '2027-01-01T00:00:00.000Z', now: AT },
}
const everybody: GateOutcome = { gate: 'audience', passed: true, compared: { leaf: null, negated: false } }

function decision(special: Partial<FormDecision>): FormDecision {
  return { formId: 'nps', decision: 'queued', at: AT, requestId: 'r-1', catalogRevision: 3, gates: [], ...special }
}

const audience = (compared: Extract<GateOutcome, { gate: 'audience' }>['compared']): GateOutcome => ({
  gate: 'audience',
  passed: false,
  compared,
})

const row: QueuedForm = {
  queuedId: 'q-1',
  formId: 'nps',
  state: 'waiting',
  queuedAt: AT,
  showFrom: AT,
  expiresAt: null,
  offeredAt: null,
  deliveredAt: null,
  answerStatus: null,
  startedAt: null,
  endedAt: null,
  requestId: 'r-1',
}

const progressOf = () => undefined

/** Explains a decision on the form `nps` of the workspace. */
function linesOf(
  given: FormDecision,
  { queue = [], forms = [Form.parse({ id: 'nps' })] }: { queue?: QueuedForm[]; forms?: Form[] } = {},
): readonly string[] {
  const workspace = { config: { forms }, notUnderstood: [] }
  const explained = explainForms({ forms: [given], queue, workspace, progressOf, nowMs: Date.parse(AT) })
  return explained.flatMap(explanationLines)
}

describe('a form in words', () => {
  it('shows each gate in order, the failed one, and those not checked', () => {
    const gates = [live, audience({ leaf: { trait: 'plan', is: 'pro' }, negated: false, actual: 'free' })]
    const trigger = { event: 'checkout', count: 3, within: '7d' }
    expect(linesOf(decision({ decision: 'not-queued', reason: 'not-in-audience', trigger, gates }))).toEqual([
      'nps: not queued',
      '  Not queued: the user was not in the audience.',
      `  Decided as not-in-audience at ${AT}, by record r-1 (event checkout 3 times within 7d), under revision 3`,
      `  ✓ live      enabled, until 2027-01-01T00:00:00.000Z, at ${AT}`,
      '  ✗ audience  trait plan is "pro"; the user has "free"',
      '  - not checked: sample, repeat, cooldown, slot',
    ])
  })

  it('shows the property of the event that did not match', () => {
    const leaf = { property: 'cart.total', atLeast: 100 }
    const where = { any: [{ atLeast: 100, property: 'cart.total' }, { not: { property: 'currency', is: 'EUR' } }] }
    const gates: GateOutcome[] = [{ gate: 'where', passed: false, compared: { leaf, negated: false, actual: 40 } }]
    const refused = { decision: 'not-queued', reason: 'properties-differ', gates } as const
    expect(linesOf(decision({ ...refused, trigger: { event: 'checkout', where } })).slice(2)).toEqual([
      `  Decided as properties-differ at ${AT}, by record r-1 (event checkout where any (property cart.total atLeast 100, not (property currency is "EUR"))), under revision 3`,
      '  ✗ where     property cart.total atLeast 100; the event has 40',
      '  - not checked: live, audience, sample, repeat, cooldown, slot',
    ])
  })

  it('begins with the present state, before a later rejection', () => {
    const later = decision({ decision: 'not-queued', reason: 'properties-differ', gates: [live] })
    const showFrom = '2026-11-02T12:00:00.000Z'
    expect(linesOf(later, { queue: [{ ...row, showFrom }] }).slice(0, 3)).toEqual([
      'nps: waiting',
      `  Waiting since ${AT}; may be shown from ${showFrom}.`,
      '  Not queued again: the properties of the event are not those that the form asks for.',
    ])
  })

  it('says that the workspace no longer has the form', () => {
    expect(linesOf(decision({ gates: [live] }), { forms: [] })[0]).toBe('nps (removed from the workspace): queued')
  })

  it('shows all six gates of a queued form', () => {
    const gates: GateOutcome[] = [
      live,
      everybody,
      { gate: 'sample', passed: true, compared: { bucket: 1_234, threshold: 2_500 } },
      { gate: 'repeat', passed: true, compared: { rule: { times: 3 }, timesQueued: 1, lastShownAt: AT } },
      { gate: 'cooldown', passed: true, compared: { cooldownSeconds: 60, lastShown: null } },
      { gate: 'slot', passed: true, compared: { waiting: null } },
    ]
    expect(linesOf(decision({ trigger: { visit: {} }, gates }))).toEqual([
      'nps: queued',
      '  Queued: every gate passed.',
      `  Decided at ${AT}, by record r-1 (visit), under revision 3`,
      expect.stringContaining('✓ live'),
      '  ✓ audience  no condition decides',
      '  ✓ sample    drew 1234 of 10000; in below 2500 (25 %)',
      `  ✓ repeat    at most 3 times; queued once before, last shown ${AT}`,
      '  ✓ cooldown  60 s since any form; none was shown before',
      '  ✓ slot      free',
    ])
  })

  it('does not list a gate as not checked if the decision predates the gate', () => {
    const lines = linesOf(decision({ gates: [live, everybody] })).join('\n')
    expect(lines).not.toContain('not checked')
  })

  it.each<[string, GateOutcome]>([
    [
      'not: segment churned; the user is a member',
      audience({ leaf: { segment: 'churned' }, negated: true, actual: true }),
    ],
    ['country in ["DE","AT"]', audience({ leaf: { country: { in: ['DE', 'AT'] } }, negated: false })],
    [
      'event search atLeast 2 within "7d"; the user has 1',
      audience({ leaf: { event: 'search', atLeast: 2, within: '7d' }, negated: false, actual: 1 }),
    ],
    [
      'event paid atLeast 2 within "7d" where all (property total atLeast 100, property currency is "EUR"); the user has 1',
      audience({
        leaf: {
          where: {
            all: [
              { atLeast: 100, property: 'total' },
              { property: 'currency', is: 'EUR' },
            ],
          },
          event: 'paid',
          atLeast: 2,
          within: '7d',
        },
        negated: false,
        actual: 1,
      }),
    ],
    ['the user has none', audience({ leaf: { trait: 'plan', exists: true }, negated: false })],
    ['everybody', { gate: 'sample', passed: true, compared: { bucket: null, threshold: 10_000 } }],
    [
      'every 30d; queued 2 times before, never shown yet',
      { gate: 'repeat', passed: false, compared: { rule: { every: '30d' }, timesQueued: 2, lastShownAt: null } },
    ],
    ['none', { gate: 'cooldown', passed: true, compared: { cooldownSeconds: 0, lastShown: null } }],
    [
      `60 s since any form; ces was offered ${AT}`,
      {
        gate: 'cooldown',
        passed: false,
        compared: { cooldownSeconds: 60, lastShown: { formId: 'ces', at: AT, openOffer: true } },
      },
    ],
    [`waiting since ${AT}`, { gate: 'slot', passed: false, compared: { waiting: { state: 'waiting', queuedAt: AT } } }],
  ])('%s', (expected, gate) => {
    expect(linesOf(decision({ gates: [gate] })).join('\n')).toContain(expected)
  })

  it('shows the members of a gate without a sentence', () => {
    const compared = { from: '22:00', until: '07:00', now: AT }
    const gate = { gate: 'quiet-hours', passed: true, compared } as unknown as GateOutcome
    expect(linesOf(decision({ gates: [gate] })).join('\n')).toContain(
      `quiet-hours  from "22:00", until "07:00", now "${AT}"`,
    )
  })

  it('reports missing gates of an old decision', () => {
    expect(linesOf(decision({})).at(-1)).toBe('  The compared values are missing: the decision predates them.')
  })
})

describe('a row of the queue in words', () => {
  it('shows the known instants', () => {
    expect(queuedLine(row)).toBe(`nps waiting: queued ${AT}`)
    const finished = {
      state: 'delivered',
      deliveredAt: 'A',
      answerStatus: 'finished',
      startedAt: 'B',
      endedAt: 'C',
    } as const
    expect(queuedLine({ ...row, ...finished })).toBe(
      `nps delivered: queued ${AT}, delivered A, answered from B, finished C`,
    )
    expect(queuedLine({ ...row, state: 'delivered', showFrom: 'A', expiresAt: 'B', deliveredAt: 'C' })).toBe(
      `nps delivered: queued ${AT}, shown from A, expires B, delivered C`,
    )
  })
})
