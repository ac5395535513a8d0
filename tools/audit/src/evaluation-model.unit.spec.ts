import { describe, expect, it } from 'vitest'
import { auditHistory } from '../test/audit-history.ts'
import { answered, at, identify, nps, over, queued, revision, track, visit } from '../test/form-records.ts'
import type { FormFact, UserFact } from './facts.ts'
import type { FormInFile } from './workspace-file.ts'

interface Story {
  readonly form?: Partial<FormInFile>
  readonly formCooldown?: string
  /** Other forms of the same project. */
  readonly others?: readonly FormInFile[]
  /** Later revisions of `nps`, from a minute on. */
  readonly changes?: readonly (readonly [minutes: number, form: Partial<FormInFile>])[]
  readonly records: readonly UserFact[]
  readonly forms?: readonly FormFact[]
  readonly late?: readonly UserFact[]
}

/** Audits the queued rows of a form `nps` that every `searched` triggers. */
async function audited({ form = {}, formCooldown = '0s', others = [], changes = [], forms = [], ...story }: Story) {
  const revisions = [[-60, form] as const, ...changes]
  const catalog = revisions.map(([minutes, special], index) =>
    revision(index + 1, minutes, [nps(special), ...others], formCooldown),
  )
  const { decided, undecided, findings } = await auditHistory({ ...story, catalog, forms })
  const found = findings
    .filter(({ kind }) => /^form-events: (not queued|refused)/.test(kind))
    .flatMap(({ kind, examples }) => examples.map(({ says }) => `${kind}: ${says}`))
  return { decided, undecided, found }
}

const notQueued = (offset: number) =>
  `form-events: not queued: record 3/${offset} triggers it, no gate refuses, but it was not queued`
const refused = (offset: number, because: string) => `form-events: refused: record 3/${offset} queued it: ${because}`

describe('the users for whom a form should have been queued', () => {
  it('are those for whom it was queued', async () => {
    expect(await audited({ records: [track(0)], forms: [queued(0)] })).toEqual({ decided: 1, undecided: 0, found: [] })
    expect(await audited({ records: [track(0)] })).toEqual({ decided: 1, undecided: 0, found: [notQueued(0)] })
  })

  it('do not exist for a record that is not evaluated', async () => {
    const tooOld = track(0, { evaluateTriggers: false })
    expect((await audited({ records: [tooOld, identify(1)] })).found).toEqual([])
    const forms = [queued(0)]
    expect((await audited({ records: [tooOld], forms })).found).toEqual([refused(0, 'is not evaluated')])
  })

  it.each<[string, Required<FormInFile>['triggers'], readonly UserFact[], number | undefined]>([
    ['counts', [{ event: 'Searched', count: 2 }], [track(0), track(1)], 1],
    ['late events count', [{ event: 'Searched', count: 2 }], [track(0, { evaluateTriggers: false }), track(1)], 1],
    [
      'events outside the window do not count',
      [{ event: 'Searched', count: 2, within: '60s' }],
      [track(0), track(1)],
      undefined,
    ],
    ['events inside the window count', [{ event: 'Searched', count: 2, within: '61s' }], [track(0), track(1)], 1],
    ['a session’s', [{ event: 'Searched', since: 'session' }], [visit(0), track(1, { source: 'sdk' })], 1],
    [
      'admin events do not count in a session',
      [{ event: 'Searched', since: 'session' }],
      [visit(0), track(1)],
      undefined,
    ],
    [
      'events before a session do not count',
      [{ event: 'Searched', since: 'session' }],
      [track(1, { source: 'sdk' })],
      undefined,
    ],
    ['a visit starts a session', [{ visit: {} }], [visit(0)], 0],
    ['time since first seen', [{ firstSeen: { after: '5m' } }], [identify(0), track(4), track(5)], 2],
  ])('follow from triggers: %s', async (_what, triggers, records, offset) => {
    const { found } = await audited({ form: { triggers }, records })
    expect(found).toEqual(offset === undefined ? [] : [notQueued(offset)])
  })

  it('follow from the current session', async () => {
    const form = { triggers: [{ visit: {} }], frequency: { repeat: 'always' } } as const
    const first = queued(0)
    const records = [visit(0), answered(first, 1), visit(20), visit(60)]
    expect((await audited({ form, records, forms: [first] })).found).toEqual([notQueued(3)])
  })

  it.each<[string, Partial<FormInFile>]>([
    ['not-live', { enabled: false }],
    ['not-live', { startsAt: at(1) }],
    ['not-live', { endsAt: at(0) }],
    ['not-in-audience', { audience: { trait: 'plan', is: 'pro' } }],
    ['sampled-out', { sample: 0 }],
  ])('follow from gates: %s %j', async (reason, form) => {
    expect((await audited({ form, records: [track(0)] })).found).toEqual([])
    expect((await audited({ form, records: [track(0)], forms: [queued(0)] })).found).toEqual([refused(0, reason)])
  })

  it('follow from the state of the user at the record', async () => {
    const form = { audience: { trait: 'plan', is: 'pro' } } as const
    expect((await audited({ form, records: [track(0), identify(1, { plan: 'pro' })] })).found).toEqual([])
    expect((await audited({ form, records: [identify(0, { plan: 'pro' }), track(1)] })).found).toEqual([notQueued(1)])
  })

  it.each<[string, Required<FormInFile>['frequency'], string | undefined]>([
    ['once', { repeat: 'once' }, 'repeat-exhausted'],
    ['twice', { repeat: { times: 2 } }, undefined],
    ['after an hour', { repeat: { every: '1h' } }, 'too-soon'],
    ['after ten minutes', { repeat: { every: '10m' } }, undefined],
  ])('follow from frequency: %s', async (_what, frequency, reason) => {
    const [first, again] = [queued(0), queued(20)]
    const records = [track(0), answered(first, 5), track(20)]
    const { found } = await audited({ form: { frequency }, records, forms: [first] })
    expect(found).toEqual(reason ? [] : [notQueued(2)])
    const repeated = await audited({ form: { frequency }, records, forms: [first, again] })
    expect(repeated.found).toEqual(reason ? [refused(2, reason)] : [])
  })

  it('follow from the cooldown across forms', async () => {
    const [first, again] = [queued(0), queued(20)]
    const story = {
      form: { frequency: { repeat: 'always' } },
      records: [track(0), answered(first, 5), track(20)],
    } as const
    const cooling = { ...story, formCooldown: '1h' }
    expect((await audited({ ...cooling, forms: [first] })).found).toEqual([])
    expect((await audited({ ...cooling, forms: [first, again] })).found).toEqual([refused(2, 'cooling-down')])
    expect(
      (await audited({ ...cooling, form: { ...story.form, cooldown: { ignore: true } }, forms: [first] })).found,
    ).toEqual([notQueued(2)])
  })

  it('follow from waiting rows, until they expire', async () => {
    const form = { frequency: { repeat: 'always' } } as const
    const first = queued(0, { expiresAt: at(10) })
    const forms = [first, over(first, 'FormExpired', 10)]
    expect((await audited({ form, records: [track(0), track(9)], forms })).found).toEqual([])
    expect((await audited({ form, records: [track(0), track(10)], forms })).found).toEqual([notQueued(1)])
    expect((await audited({ form, records: [track(0), track(9)], forms: [first, queued(9)] })).found).toEqual([
      refused(1, 'already-waiting'),
    ])
    // A fast clock expired the row before the record was folded.
    expect((await audited({ form, records: [track(0), track(9)], forms: [...forms, queued(9)] })).found).toEqual([])
  })
})

describe('a case is undecided', () => {
  const always = { frequency: { repeat: 'always' } } as const

  it('if a row was cancelled at the same time', async () => {
    const first = queued(0)
    const forms = [first, over(first, 'FormCancelled', 10)]
    const after = (minutes: number) => audited({ form: always, records: [track(0), track(minutes)], forms })
    expect(await after(9)).toEqual({ decided: 2, undecided: 0, found: [] })
    expect(await after(10.2)).toEqual({ decided: 1, undecided: 1, found: [] })
    expect(await after(11)).toEqual({ decided: 2, undecided: 0, found: [notQueued(1)] })
  })

  it('if a record received later, and folded before, may have expired a row', async () => {
    const first = queued(0, { expiresAt: at(10) })
    const then = (...records: readonly UserFact[]) =>
      audited({ form: always, records: [track(0), ...records], forms: [first] })
    expect(await then(visit(9.9), track(9.8))).toEqual({ decided: 2, undecided: 0, found: [] })
    expect(await then(visit(10), track(9.8))).toEqual({ decided: 1, undecided: 1, found: [] })
    // An admin identify triggers nothing, so it expires nothing.
    expect(await then(identify(10), track(9.8))).toEqual({ decided: 2, undecided: 0, found: [] })
  })

  it('if another form may have been on offer', async () => {
    const other = queued(0, { formId: 'other' })
    const story = { formCooldown: '1h', forms: [other], others: [{ id: 'other', triggers: [{ event: 'x' }] }] }
    const before = [track(0, { slug: 'x' }), visit(1)]
    const { undecided, found } = await audited({ ...story, records: [...before, track(1.4)] })
    expect([undecided, found.filter((one) => one.includes('not queued'))]).toEqual([1, []])
    expect((await audited({ ...story, records: [...before, track(2)] })).found).toContain(notQueued(2))
  })

  it('if the user’s records were folded in another order', async () => {
    const first = identify(0)
    const { undecided, found } = await audited({ records: [first, track(1)], late: [first] })
    expect([undecided, found]).toEqual([1, []])
  })

  it('if the form was changed since, until a later record determines the revision', async () => {
    const form = { ...always, triggers: [{ event: 'Never' }] }
    const [before, after] = [queued(30, { catalogRevision: 1 }), queued(30, { catalogRevision: 2 })]
    const story = { form, changes: [[10, always]] as const }
    expect(await audited({ ...story, records: [track(0)] })).toEqual({ decided: 0, undecided: 1, found: [] })
    expect(await audited({ ...story, records: [track(0), track(30)], forms: [after] })).toEqual({
      decided: 1,
      undecided: 1,
      found: [],
    })
    const changedBack = { form: always, changes: [[40, { ...always, enabled: false }]] as const }
    expect(await audited({ ...changedBack, records: [track(0), track(30)], forms: [before] })).toEqual({
      decided: 2,
      undecided: 0,
      found: [notQueued(0)],
    })
    expect((await audited({ ...changedBack, records: [track(50)] })).found).toEqual([])
  })

  it('if the form was changed a few seconds before the record', async () => {
    const story = { form: { ...always, enabled: false }, changes: [[10, always]] as const }
    expect(await audited({ ...story, records: [track(10.2)] })).toEqual({ decided: 0, undecided: 1, found: [] })
    expect(await audited({ ...story, records: [track(11)] })).toEqual({
      decided: 1,
      undecided: 0,
      found: [notQueued(0)],
    })
  })
})
