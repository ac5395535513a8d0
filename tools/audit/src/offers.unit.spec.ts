import { describe, expect, it } from 'vitest'
import { auditHistory } from '../test/audit-history.ts'
import { answered, at, delivered, identify, nps, over, queued, revision, track, visit } from '../test/form-records.ts'
import type { FormDelivered, FormFact, FormQueued, UserFact } from './facts.ts'
import type { FormInFile } from './workspace-file.ts'

const survey: FormInFile = { id: 'survey', triggers: [{ event: 'Searched' }] }

interface Story {
  readonly forms?: readonly FormInFile[]
  readonly formCooldown?: string
  readonly catalog?: readonly object[]
  readonly records: readonly UserFact[]
  readonly facts: readonly FormFact[]
  readonly late?: readonly UserFact[]
}

/** Returns the findings about forms in the answers of visits. */
async function shownByMistake({ forms = [nps()], formCooldown, facts, ...story }: Story) {
  const catalog = [revision(1, -60, forms, formCooldown)]
  const { findings } = await auditHistory({ catalog, forms: facts, ...story })
  const found = findings.find(({ kind }) => kind === 'form-events: shown by mistake')
  return (found?.examples ?? []).map(({ says }) => says.replace(/^record 3\/\d+: /, ''))
}

/** Returns a visit in that minute that was answered with the row. */
function shown(row: FormQueued, minutes: number): { records: UserFact[]; facts: FormDelivered[] } {
  return { records: [visit(minutes), answered(row, minutes)], facts: [delivered(row, minutes)] }
}

/** Returns a row that was queued at the start, and shown in that minute. */
function shownAt(minutes: number, special: Partial<FormQueued> = {}) {
  const row = queued(0, special)
  const { records, facts } = shown(row, minutes)
  return { records: [track(0), ...records], facts: [row, ...facts] }
}

describe('the form in the answer of a visit', () => {
  it('was waiting, or was queued by the visit itself', async () => {
    expect(await shownByMistake(shownAt(5))).toEqual([])
    const forms = [nps({ triggers: [{ visit: {} }] })]
    const row = queued(5)
    const { records, facts } = shown(row, 5)
    expect(await shownByMistake({ forms, records, facts: [row, ...facts] })).toEqual([])
  })

  it('was queued before, and not shown yet', async () => {
    const row = queued(5)
    const before = shown(row, 4)
    expect(await shownByMistake({ records: [...before.records, track(5)], facts: [row, ...before.facts] })).toEqual([
      'it did not wait for this user',
    ])
    const { records, facts } = shownAt(5)
    const again = shown(facts[0] as FormQueued, 6)
    expect(
      await shownByMistake({ records: [...records, ...again.records], facts: [...facts, ...again.facts] }),
    ).toEqual(['it did not wait for this user'])
  })

  it('is shown after its delay', async () => {
    const forms = [nps({ delay: '5m' })]
    expect(await shownByMistake({ forms, ...shownAt(5, { showFrom: at(5) }) })).toEqual([])
    expect(await shownByMistake({ forms, ...shownAt(4.99, { showFrom: at(5) }) })).toEqual(['its delay is not over'])
  })

  it('has not expired', async () => {
    const forms = [nps({ expiresAfter: '5m' })]
    expect(await shownByMistake({ forms, ...shownAt(4.99, { expiresAt: at(5) }) })).toEqual([])
    expect(await shownByMistake({ forms, ...shownAt(5, { expiresAt: at(5) }) })).toEqual(['it has expired'])
  })

  it('was not cancelled', async () => {
    const catalog = [revision(1, -60, [nps()]), revision(2, 1, []), revision(3, 2, [nps()])]
    const { records, facts } = shownAt(5)
    const cancelledAt = (minutes: number) =>
      shownByMistake({ catalog, records, facts: [...facts, over(facts[0] as FormQueued, 'FormCancelled', minutes)] })
    expect(await cancelledAt(1.5)).toEqual(['it was cancelled'])
    // The clocks of the gateway and the evaluator may differ.
    expect(await cancelledAt(4.9)).toEqual([])
  })

  it.each<[string, Partial<FormInFile>]>([
    ['not-live', { endsAt: at(5) }],
    ['not-in-audience', { audience: { trait: 'plan', isNot: 'free' } }],
    ['cooling-down', {}],
  ])('passes the gates again: %s', async (reason, form) => {
    const before = { survey: queued(-5, { formId: 'survey' }), row: queued(0) }
    const [first, second] = [shown(before.survey, -4), shown(before.row, 5)]
    const story = {
      records: [track(-5), ...first.records, track(0), identify(1, { plan: 'free' }), ...second.records],
      facts: [before.survey, ...first.facts, before.row, ...second.facts],
    }
    const formCooldown = reason === 'cooling-down' ? '10m' : '0s'
    expect(await shownByMistake({ ...story, formCooldown, forms: [nps(form), survey] })).toEqual([reason])
    expect(await shownByMistake({ ...story, forms: [nps(), survey] })).toEqual([])
  })

  it('exists in the project', async () => {
    const catalog = [revision(1, -60, [nps()]), revision(2, 1, [])]
    expect(await shownByMistake({ catalog, ...shownAt(5) })).toEqual(['the form does not exist'])
    // The evaluator may not have known the revision by then.
    expect(await shownByMistake({ catalog: [catalog[0]!, revision(2, 4.9, [])], ...shownAt(5) })).toEqual([])
  })

  it('is on offer to one visit at a time', async () => {
    const row = queued(0)
    const both = (minutes: number) => {
      const [one, other] = [shown(row, 5), shown(row, minutes)]
      // The second visit is folded before the answer to the first.
      const [records, facts] = [
        [visit(5), ...other.records, one.records[1]!],
        [...one.facts, ...other.facts],
      ]
      return shownByMistake({ records: [track(0), ...records], facts: [row, ...facts] })
    }
    expect(await both(5.1)).toEqual(['it was on offer to another visit'])
    expect(await both(5.5)).toEqual([])
  })

  it('is the only one', async () => {
    const [row, other] = [queued(0), queued(0, { formId: 'survey' })]
    const [one, two] = [shown(row, 5), shown(other, 5)]
    const story = {
      records: [track(0), ...one.records, two.records[1]!],
      facts: [row, other, ...one.facts, ...two.facts],
    }
    expect(await shownByMistake({ forms: [nps(), survey], ...story })).toContain(
      'the visit was answered with several forms',
    )
  })
})

/** Returns a story in which `nps` was shown in minute 5, while `survey` waited. */
const story = (ofSurvey: Partial<FormQueued>, minutes = 0): Story => {
  const [row, other] = [queued(0), queued(minutes, { formId: 'survey', ...ofSurvey })]
  const { records, facts } = shown(row, 5)
  const tracked = [track(0), ...(minutes === 0 ? [] : [track(minutes)])].toSorted((one, two) =>
    one.received < two.received ? -1 : 1,
  )
  return { forms: [nps(), survey], records: [...tracked, ...records], facts: [row, other, ...facts] }
}

describe('the most urgent form', () => {
  const first = ['survey comes before it']

  it('is chosen by priority, then by the time queued, then by id', async () => {
    expect(await shownByMistake(story({}))).toEqual([])
    expect(await shownByMistake(story({ priority: 1 }))).toEqual(first)
    expect(await shownByMistake(story({ priority: -1 }))).toEqual([])
    expect(await shownByMistake(story({}, -1))).toEqual(first)
    expect(await shownByMistake(story({ priority: -1 }, -1))).toEqual([])
    expect(await shownByMistake(story({}, 1))).toEqual([])
    const byId = story({})
    const forms = [nps(), { ...survey, id: 'a' }]
    expect(
      await shownByMistake({
        ...byId,
        forms,
        facts: [byId.facts[0]!, queued(0, { formId: 'a' }), ...byId.facts.slice(2)],
      }),
    ).toEqual(['a comes before it'])
  })

  it('is one that may be shown', async () => {
    expect(await shownByMistake(story({ priority: 1, showFrom: at(6) }))).toEqual([])
    expect(await shownByMistake(story({ priority: 1, expiresAt: at(5) }))).toEqual([])
    const forms = [nps(), { ...survey, endsAt: at(5) }]
    expect(await shownByMistake({ ...story({ priority: 1 }), forms })).toEqual([])
  })

  it('may have been taken, if the log does not exclude it', async () => {
    const urgent = story({ priority: 1 })
    const after = (visits: readonly UserFact[]) =>
      shownByMistake({ ...urgent, records: [urgent.records[0]!, ...visits, ...urgent.records.slice(1)] })
    expect(await after([])).toEqual(first)
    // This visit may have been offered the form without an answer.
    expect(await after([visit(4.6)])).toEqual([])
    expect(await after([visit(4)])).toEqual(first)
    // The user's records are folded in another order.
    const early = identify(-1)
    expect(await shownByMistake({ ...urgent, records: [early, ...urgent.records], late: [early] })).toEqual([])
  })

  it('may just have been cancelled or have expired', async () => {
    const urgent = story({ priority: 1, expiresAt: at(5.1) })
    expect(await shownByMistake(urgent)).toEqual(first)
    const expired = over(urgent.facts[1] as FormQueued, 'FormExpired', 5.1)
    expect(await shownByMistake({ ...urgent, facts: [...urgent.facts, expired] })).toEqual([])
  })
})

it('an offer is never reported as missing if a visit was answered without a form', async () => {
  expect(await shownByMistake({ records: [track(0), visit(5), visit(6)], facts: [queued(0)] })).toEqual([])
})
