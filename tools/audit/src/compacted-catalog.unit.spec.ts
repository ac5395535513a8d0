import { describe, expect, it } from 'vitest'
import { auditHistory, type History } from '../test/audit-history.ts'
import {
  answered,
  at,
  delivered,
  idOf,
  nps,
  over,
  place,
  queued,
  queueRow,
  revision,
  track,
  visit,
} from '../test/form-records.ts'
import { createCatalog } from './catalog.ts'

/** Revision 1 has `nps` and `old`, revision 2 only `nps`, changed, and revision 3 has `nps` disabled. */
const old = nps({ id: 'old', frequency: { repeat: 'always' }, priority: 3, expiresAfter: '5m' })
const whole = [
  revision(1, -60, [nps({ frequency: { repeat: 'always' } }), old]),
  revision(2, 30, [nps({ frequency: { repeat: 'always' }, delay: '1m' })]),
  revision(3, 90, [nps({ frequency: { repeat: 'always' }, enabled: false })]),
]
const compacted = whole.slice(2)

const oldOne = queued(0, { formId: 'old', priority: 3, expiresAt: at(5) })
const first = queued(0)
const changed = queued(40, { catalogRevision: 2, showFrom: at(41) })
const last = queued(80, { catalogRevision: 2, showFrom: at(81) })
/** A story that matches the revisions. */
const story = {
  records: [
    track(0),
    visit(10),
    answered(first, 10),
    track(40),
    visit(42),
    answered(changed, 42),
    track(80),
    track(100),
  ],
  forms: [oldOne, first, over(oldOne, 'FormExpired', 5), delivered(first, 10), changed, delivered(changed, 42), last],
}
const cancelled = over(last, 'FormCancelled', 91)

/** The last decision about `nps`: by revision 3, in which it is disabled. */
const decision = {
  ...place,
  formId: 'nps',
  recordId: idOf(100),
  decidedAt: at(100),
  outcome: 'not-live',
  catalogRevision: 3,
  details: JSON.stringify({
    trigger: { event: 'Searched' },
    gates: [{ gate: 'live', passed: false, compared: { enabled: false, startsAt: null, endsAt: null, now: at(100) } }],
  }),
}
/** A decision about `old`, which no remaining revision has. */
const oldDecision = { ...decision, formId: 'old', recordId: idOf(80), decidedAt: at(80), catalogRevision: 1 }

const audited = (catalog: readonly object[], special: Partial<History> = {}) =>
  auditHistory({ ...story, forms: [...story.forms, cancelled], catalog, isAtRest: true, ...special })

const rowAsOf = (minutes: number) => [queueRow(last, { asOf: at(minutes) })]
const ofOther = (minutes: number) => queued(minutes, { formId: 'other', catalogRevision: 2 })

async function kindsOf(special: Partial<History>) {
  const { findings } = await audited(compacted, special)
  return findings.map(({ kind }) => kind)
}

describe('a compacted catalog', () => {
  it('leaves cases undecided that depend on missing revisions', async () => {
    expect(await audited(whole)).toEqual({ decided: 5, undecided: 0, findings: [] })
    expect(await audited(compacted)).toEqual({ decided: 1, undecided: 6, findings: [] })
  })

  it('still reports violations of the remaining revisions', async () => {
    const refused = queued(100, { catalogRevision: 3 })
    expect(await kindsOf({ forms: [...story.forms, cancelled, refused] })).toEqual(['form-events: refused'])
    expect(await kindsOf({ forms: story.forms, queue: rowAsOf(92) })).toContain('forms.queue: overdue')
    expect(await kindsOf({ forms: story.forms, queue: rowAsOf(90.5) })).not.toContain('forms.queue: overdue')
  })

  it('does not check old decisions about missing forms, but checks later ones', async () => {
    expect(await kindsOf({ decisions: [decision, oldDecision] })).toEqual([])
    expect(await kindsOf({ decisions: [oldDecision] })).toEqual(['forms.decisions: missing'])
    expect(await kindsOf({ decisions: [{ ...decision, outcome: 'sampled-out' }] })).toEqual([
      'forms.decisions: outcome',
    ])
  })

  it('allows changes of a missing revision between two others', async () => {
    const always = nps({ frequency: { repeat: 'always' } })
    const other = nps({ id: 'other', triggers: [{ event: 'Searched' }] })
    const catalog = [revision(2, 30, [always, other]), revision(5, 90, [always])]
    const one = queued(40, { catalogRevision: 2 })
    const ended = over(one, 'FormCancelled', 60)
    const records = [track(40), track(70), track(71)]
    const forms = [one, ofOther(40), ended, over(ofOther(40), 'FormCancelled', 60), ofOther(71)]
    const { findings } = await auditHistory({ catalog, records, forms })
    expect(findings.map(({ kind, examples }) => [kind, examples])).toEqual([])
  })

  it('has no revision by the content of a form', () => {
    const catalog = createCatalog()
    const content = { type: 'FormContentApplied', organization: 'acme', project: 'shop', formId: 'nps', revision: 1 }
    for (const one of [content, revision(1, 30, [])]) catalog.observe(Buffer.from(JSON.stringify(one)))
    expect([catalog.latest('acme'), catalog.project('acme', 'shop', 1)]).toMatchObject([1, { cooldownMs: 0 }])
  })

  it('is reported with the number of missing revisions of an organization', () => {
    const catalog = createCatalog()
    for (const one of [revision(2, 30, []), revision(5, 90, [])]) catalog.observe(Buffer.from(JSON.stringify(one)))
    expect(catalog.compacted()).toEqual([{ organization: 'acme', unknown: 3, latest: 5 }])
    const possible = [0, 30, 60, 90].map((minutes) => {
      const instant = Date.parse(at(minutes))
      return [catalog.revisionAt('acme', instant), catalog.lastRevisionAt('acme', instant)]
    })
    expect(possible).toEqual([
      [0, 1],
      [2, 4],
      [2, 4],
      [5, 5],
    ])
    expect([0, 1, 2, 3, 5, 6].filter((number) => catalog.isKnown('acme', number))).toEqual([0, 2, 5, 6])
  })
})
