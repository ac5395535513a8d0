import { describe, expect, it } from 'vitest'
import { auditHistory, type History } from '../test/audit-history.ts'
import { firstDifference } from './decisions-model.ts'
import type { FormInFile } from './workspace-file.ts'
import {
  answered,
  at,
  delivered,
  identify,
  idOf,
  nps,
  place,
  queued,
  revision,
  track,
  visit,
} from '../test/form-records.ts'

const GATES = ['live', 'audience', 'sample', 'repeat', 'cooldown', 'slot'] as const
type Compared = Partial<Record<(typeof GATES)[number], object>>

interface Decided {
  readonly minutes: number
  readonly outcome?: string
  readonly catalogRevision?: number
  readonly trigger?: object
  /** Compared values that differ from the default. */
  readonly compared?: Compared
  /** Gate that refused. */
  readonly by?: (typeof GATES)[number]
}

/** Returns a row of `decisions` as the evaluator writes it, by the record of that minute. */
function decision({ minutes, outcome = 'queued', catalogRevision = 1, by, ...special }: Decided) {
  const { trigger = { event: 'Searched' }, compared = {} } = special
  const usual: Required<Compared> = {
    live: { enabled: true, startsAt: null, endsAt: null, now: at(minutes) },
    audience: { leaf: null, negated: false },
    sample: { bucket: null, threshold: 10_000 },
    repeat: { rule: 'once', timesQueued: 0, lastShownAt: null },
    cooldown: { cooldownSeconds: 0, lastShown: null },
    slot: { waiting: null },
  }
  const checked = GATES.slice(0, by ? GATES.indexOf(by) + 1 : undefined)
  const gates = checked.map((gate) => ({ gate, passed: gate !== by, compared: { ...usual[gate], ...compared[gate] } }))
  const when = { recordId: idOf(minutes), decidedAt: at(minutes) }
  return { ...place, formId: 'nps', ...when, outcome, catalogRevision, details: JSON.stringify({ trigger, gates }) }
}

/** Returns the row of a decision without one of its gates. */
function without(decided: Decided, missing: string) {
  const row = decision(decided)
  const { trigger, gates } = JSON.parse(row.details) as { trigger: object; gates: { gate: string }[] }
  return [{ ...row, details: JSON.stringify({ trigger, gates: gates.filter(({ gate }) => gate !== missing) }) }]
}

interface Story extends Partial<History> {
  readonly form?: Partial<FormInFile>
  readonly formCooldown?: string
}

/** Returns the differing columns of the last decision, or the differing gate. */
async function differences({ form = {}, formCooldown = '0s', ...story }: Story, decided: Decided) {
  const catalog = [revision(1, -60, [nps(form)], formCooldown)]
  const history = { catalog, records: [], forms: [], decisions: [decision(decided)], ...story }
  const { findings } = await auditHistory(history)
  return findings
    .filter(({ kind }) => kind.startsWith('forms.decisions'))
    .flatMap(({ kind, examples }) => examples.map((one) => ({ kind, ...one })))
    .filter(({ about }) => about.endsWith('/nps'))
    .map(({ kind, says }) => (kind.endsWith('gates') ? says : kind.split(': ')[1]))
}

const once = { records: [track(0)], forms: [queued(0)] }
const again = { records: [track(0), track(1)], forms: [queued(0)] }
const exhausted: Decided = {
  minutes: 1,
  outcome: 'repeat-exhausted',
  by: 'repeat',
  compared: { repeat: { timesQueued: 1 } },
}
const otherGate = (gate: string) => [`${gate} differs from the log`]

const cooldown = (lastShown: object | null): Compared => ({
  repeat: { rule: 'always' },
  cooldown: { cooldownSeconds: 3_600, lastShown },
})

const alreadyWaiting = (waiting: object): Decided => ({
  minutes: 20,
  outcome: 'already-waiting',
  by: 'slot',
  compared: { repeat: { rule: 'always', timesQueued: 1 }, slot: { waiting } },
})

describe('the last decision', () => {
  it('is that of the last record that triggered the form, with its outcome', async () => {
    expect(await differences(once, { minutes: 0 })).toEqual([])
    expect(await differences(again, exhausted)).toEqual([])
    expect(await differences(again, { ...exhausted, outcome: 'already-waiting' })).toEqual(['outcome'])
    expect(await differences(again, { minutes: 0 })).toEqual(['recordId', 'decidedAt'])
    expect(await differences({ records: [identify(0)] }, { minutes: 0 })).toEqual(['not in the log'])
    expect(await differences({ ...once, decisions: [] }, { minutes: 0 })).toEqual(['missing'])
  })

  it('names the first trigger that matches', async () => {
    const triggers = [{ visit: {} }, { event: 'Searched', count: 1 }, { event: 'searched' }]
    const trigger = { event: 'Searched', count: 1 }
    expect(await differences({ ...once, form: { triggers } }, { minutes: 0, trigger })).toEqual([])
    expect(await differences({ ...once, form: { triggers } }, { minutes: 0, trigger: { event: 'searched' } })).toEqual([
      'trigger',
    ])
  })

  it('has the exact threshold of a sample: 0.07 percent are 7 of 10,000', async () => {
    const story = { form: { sample: 0.07 }, records: [track(0)] }
    const decided = { minutes: 0, outcome: 'sampled-out', by: 'sample' } as const
    expect(await differences(story, { ...decided, compared: { sample: { bucket: 8_313, threshold: 7 } } })).toEqual([])
    const inFloats = { sample: { bucket: 8_313, threshold: 0.07 * 100 } }
    expect(await differences(story, { ...decided, compared: inFloats })).toEqual(otherGate('sample'))
  })

  it('names the property that did not match its trigger', async () => {
    const leaf = { property: 'cart.total', atLeast: 100 }
    const trigger = { event: 'Searched', where: { not: { not: leaf } } }
    const form = { triggers: [{ visit: {} }, trigger, { event: 'Searched', where: { property: 'b', is: 1 } }] }
    const records = [track(0, { properties: { cart: { total: 40 } } })]
    const row = (compared: object, outcome = 'properties-differ') => {
      const details = JSON.stringify({ trigger, gates: [{ gate: 'where', passed: false, compared }] })
      return { decisions: [{ ...decision({ minutes: 0, outcome }), details }] }
    }
    const found = (decisions: object) => differences({ form, records, ...decisions }, { minutes: 0 })
    expect(await found(row({ leaf, negated: false, actual: 40 }))).toEqual([])
    expect(await found(row({ leaf, negated: false, actual: 41 }))).toEqual(otherGate('where'))
    expect(await found(row({ leaf, negated: false, actual: 40 }, 'not-live'))).toEqual(['outcome'])
    expect(await found({ decisions: [] })).toEqual(['missing'])
  })

  it('is by a revision with this decision', async () => {
    const catalog = [revision(1, -60, [nps()]), revision(2, -50, [nps({ enabled: false })])]
    const live = { enabled: false }
    const refused: Decided = { minutes: 0, outcome: 'not-live', by: 'live', compared: { live }, catalogRevision: 2 }
    expect(await differences({ catalog, records: [track(0)] }, refused)).toEqual([])
    expect(await differences({ catalog, records: [track(0)] }, { ...refused, catalogRevision: 1 })).toEqual([
      'catalogRevision',
    ])
    const queuedBefore = { ...once, catalog: [...catalog, revision(3, 10, [nps()])] }
    expect(await differences({ ...queuedBefore, forms: [queued(0, { catalogRevision: 3 })] }, { minutes: 0 })).toEqual([
      'catalogRevision',
    ])
  })

  it('has the compared values of each gate, up to the one that refused', async () => {
    const [first] = [queued(0)]
    const shown = { timesQueued: 1, lastShownAt: at(5) }
    const records = [track(0), visit(5), answered(first, 5), track(20)]
    const story = { records, forms: [first, delivered(first, 5)] }
    const atTwenty: Decided = { ...exhausted, minutes: 20, compared: { repeat: shown } }
    expect(await differences(story, atTwenty)).toEqual([])
    const compared = (wrong: Compared): Decided => ({ ...atTwenty, compared: { repeat: shown, ...wrong } })
    expect(await differences(story, compared({ live: { now: at(21) } }))).toEqual(otherGate('live'))
    expect(await differences(story, compared({ audience: { negated: true } }))).toEqual(otherGate('audience'))
    expect(await differences(story, compared({ sample: { threshold: 1 } }))).toEqual(otherGate('sample'))
    expect(await differences(story, compared({ repeat: { ...shown, timesQueued: 2 } }))).toEqual(otherGate('repeat'))
    expect(await differences(story, compared({ repeat: { ...shown, lastShownAt: null } }))).toEqual(otherGate('repeat'))
    expect(await differences(story, { ...atTwenty, by: 'slot' })).toEqual(otherGate('repeat'))
  })

  it('has every gate that was checked', async () => {
    for (const gate of GATES) {
      const decisions = without({ minutes: 0 }, gate)
      expect(await differences({ ...once, decisions }, { minutes: 0 })).toEqual(otherGate(gate))
    }
    expect(await differences({ ...again, decisions: without(exhausted, 'repeat') }, exhausted)).toEqual(
      otherGate('repeat'),
    )
  })

  it('may lack a gate that passes and that an earlier version of the evaluator did not have', () => {
    const sample = { gate: 'sample', passed: true, compared: {} } as const
    const repeat = { gate: 'repeat', passed: false, compared: {} } as const
    const addedLater = new Set(['sample', 'repeat'])
    expect(firstDifference([sample, repeat], [repeat], addedLater)).toBeUndefined()
    expect(firstDifference([sample, repeat], [sample], addedLater)).toBe('repeat')
    expect(firstDifference([sample, repeat], [repeat], new Set(['repeat']))).toBe('sample')
  })

  it.each<[string, Required<FormInFile>['audience'], object]>([
    [
      'the first failing one of all',
      {
        all: [
          { trait: 'a', is: 1 },
          { trait: 'b', is: 2 },
        ],
      },
      { trait: 'b', is: 2 },
    ],
    [
      'the last one of any',
      {
        any: [
          { trait: 'b', is: 2 },
          { trait: 'a', is: 2 },
        ],
      },
      { trait: 'a', is: 2 },
    ],
  ])('names the decisive condition: %s', async (_what, audience, leaf) => {
    const records = [identify(0, { a: 1 }), track(1)]
    const actual = 'b' in leaf ? undefined : (leaf as { trait: string }).trait === 'a' ? 1 : undefined
    const refused = (special: object): Decided => ({
      minutes: 1,
      outcome: 'not-in-audience',
      by: 'audience',
      compared: { audience: { leaf, negated: false, actual, ...special } },
    })
    expect(await differences({ form: { audience }, records }, refused({}))).toEqual([])
    expect(await differences({ form: { audience }, records }, refused({ leaf: audience }))).toEqual(
      otherGate('audience'),
    )
    expect(await differences({ form: { audience }, records }, refused({ actual: 'x' }))).toEqual(otherGate('audience'))
  })

  it('expects an excerpt of a long value', async () => {
    const tags = Array.from({ length: 21 }, () => 'x'.repeat(101))
    const leaf = { trait: 'tags', contains: 'vip' }
    const refused = (actual: unknown): Decided => ({
      minutes: 1,
      outcome: 'not-in-audience',
      by: 'audience',
      compared: { audience: { leaf, negated: false, actual } },
    })
    const given = { form: { audience: leaf }, records: [identify(0, { tags }), track(1)] }
    expect(await differences(given, refused(tags.slice(0, 20).map(() => `${'x'.repeat(100)}…`)))).toEqual([])
    expect(await differences(given, refused(tags))).toEqual(otherGate('audience'))
  })

  it('considers an offer that may have been open', async () => {
    const survey = { id: 'survey', triggers: [{ event: 'Other' }] }
    const catalog = [revision(1, -60, [nps({ frequency: { repeat: 'always' } }), survey], '1h')]
    const forms = [queued(0, { formId: 'survey' })]
    const records = [track(0, { slug: 'other' }), visit(1), track(1.4)]
    const refused = (lastShown: object): Decided => ({
      minutes: 1.4,
      outcome: 'cooling-down',
      by: 'cooldown',
      compared: cooldown(lastShown),
    })
    const offer = { formId: 'survey', at: at(1), openOffer: true }
    expect(await differences({ catalog, forms, records }, refused(offer))).toEqual([])
    const others = [
      { ...offer, at: at(0.9) },
      { ...offer, formId: 'nps' },
      { ...offer, openOffer: false },
    ]
    for (const other of others) {
      expect(await differences({ catalog, forms, records }, refused(other))).toEqual(otherGate('cooldown'))
    }
    // The log does not contain offers. But nothing was queued, so the visit was offered the form.
    const queuedThen: Decided = { minutes: 1.4, compared: cooldown(null) }
    expect(await differences({ catalog, forms, records }, queuedThen)).toEqual(['outcome'])
  })

  it('names the waiting row', async () => {
    const form = { frequency: { repeat: 'always' } } as const
    const story = { form, records: [track(0), track(20)], forms: [queued(0)] }
    const waiting = { state: 'waiting', queuedAt: at(0) }
    expect(await differences(story, alreadyWaiting(waiting))).toEqual([])
    expect(await differences(story, alreadyWaiting({ ...waiting, queuedAt: at(1) }))).toEqual(otherGate('slot'))
    const offered = { ...waiting, state: 'offered' }
    expect(await differences(story, alreadyWaiting(offered))).toEqual(otherGate('slot'))
    const visited = { ...story, records: [track(0), visit(19.9), track(20)] }
    expect(await differences(visited, alreadyWaiting(offered))).toEqual([])
  })
})

describe('a decision that the log does not determine', () => {
  const other: Decided = { minutes: 7, outcome: 'sampled-out', by: 'sample' }

  it('is not compared', async () => {
    const first = identify(0)
    expect(await differences({ records: [first, track(1)], late: [first] }, other)).toEqual([])
    const changed = [revision(1, -60, [nps()]), revision(2, 10, [nps({ triggers: [] })])]
    expect(await differences({ catalog: changed, records: [track(0)] }, other)).toEqual([])
  })

  it('must match one of the possible revisions', async () => {
    const catalog = [revision(1, -60, [nps({ sample: 0 })]), revision(2, 10, [nps({ enabled: false })])]
    const story = { catalog, records: [track(0)] }
    const disabled: Decided = {
      minutes: 0,
      outcome: 'not-live',
      by: 'live',
      compared: { live: { enabled: false } },
      catalogRevision: 2,
    }
    expect(await differences(story, disabled)).toEqual([])
    expect(await differences(story, { ...disabled, catalogRevision: 1 })).toEqual(['outcome'])
    expect(await differences(story, { ...disabled, outcome: 'too-soon', by: 'repeat' })).toEqual(['outcome'])
  })
})
