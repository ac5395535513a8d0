import { FormFact, ProjectConfig, type UserFact } from '@nextvisit/contracts'
import { answerGiven, eventTracked, formAnswered, userIdFixture, visit } from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { createSimulation } from './simulate-forms.ts'

const HOUR = 3_600_000
const FROM = Date.parse('2026-11-20T12:00:00.000Z')
const at = (hours: number) => new Date(FROM + hours * HOUR).toISOString()
const ada = { userName: 'ada', userId: userIdFixture('ada') }
const checkout = (hours: number) => eventTracked({ ...ada, eventName: 'checkout', received: at(hours) })
const seen = (hours: number) => visit({ ...ada, received: at(hours) })

type FormInput = Partial<ProjectConfig['forms'][number]>

/** Simulates a form with the trigger `checkout`, in a project without forms today. */
function simulate(
  form: FormInput,
  { formFacts = [], userFacts }: { formFacts?: readonly FormFact[]; userFacts: readonly UserFact[] },
  formCooldown = '0s',
) {
  const forms = [{ id: 'nps', triggers: [{ event: 'checkout' }], ...form }]
  const proposed = ProjectConfig.parse({ id: 'shop', formCooldown, forms })
  const simulation = createSimulation([{ organization: 'acme', project: 'shop', proposed, today: undefined }], {
    from: FROM,
    to: FROM + 100 * HOUR,
  })
  for (const fact of formFacts) simulation.takeFormFact(fact)
  for (const fact of userFacts) simulation.takeUserFact(fact)
  const tally = simulation.result()[0]?.tallies.proposed.get('nps')
  return { queued: tally?.queued, refusals: Object.fromEntries(tally?.refusals ?? []) }
}

describe("a project's first form", () => {
  const always: FormInput = { frequency: { repeat: 'always' } }

  it('is shown at each visit, and can be queued again', () => {
    const userFacts = [checkout(1), seen(2), checkout(3), checkout(4), seen(5), checkout(6)]
    expect(simulate(always, { userFacts })).toEqual({ queued: 3, refusals: { 'already-waiting': 1 } })
  })

  it('reacts to events whose properties match its trigger', () => {
    const triggers = [{ event: 'checkout', where: { property: 'total', atLeast: 100 } }]
    const totals = [40, 100, undefined, 120]
    const userFacts = totals.map((total, hour) => ({ ...checkout(hour), ...(total && { properties: { total } }) }))
    const refusals = { 'properties-differ': 2, 'already-waiting': 1 }
    expect(simulate({ ...always, triggers }, { userFacts })).toEqual({ queued: 1, refusals })
  })

  it('counts by the properties in the log, even before any form used them', () => {
    const where = { property: 'total', atLeast: 100 }
    const totals = [100, 40, 120, undefined, 130]
    const userFacts = totals.map((total, hour) => ({
      ...checkout(hour - 3),
      ...(total && { properties: { total } }),
      // The hash of another project's count, which no form here uses.
      countsFor: ['0123456789abcdef'],
    }))
    const triggers = [{ event: 'checkout', count: 3, within: '7d', where }]
    expect(simulate({ ...always, triggers }, { userFacts })).toEqual({ queued: 1, refusals: {} })
    const audience = { event: 'checkout', atMost: 2, where }
    const refused = { queued: 1, refusals: { 'not-in-audience': 1 } }
    expect(simulate({ ...always, audience }, { userFacts })).toEqual(refused)
  })

  it('starts the cooldown at the visit that shows it', () => {
    const userFacts = [checkout(1), seen(2), checkout(3), checkout(26)]
    expect(simulate(always, { userFacts }, '1d')).toEqual({ queued: 2, refusals: { 'cooling-down': 1 } })
  })
})

describe('answers to forms', () => {
  const low = { answers: { score: 4 }, elements: { score: 'nps' as const } }
  const finished = answerGiven({ ...ada, ...low, received: at(1) })

  it('set off a form if they have finished an offer, as the evaluator decided', () => {
    const triggers = [{ answered: { form: 'csat', where: { answer: 'score', atMost: 6 } } }]
    const given = { ...finished, formId: 'csat' }
    const queuedBy = (outcome: 'recorded' | 'late') =>
      simulate({ triggers }, { formFacts: [formAnswered(given, { outcome })], userFacts: [given] }).queued
    expect([queuedBy('recorded'), queuedBy('late')]).toEqual([1, 0])
  })

  it.each([
    ['that finishes a waiting form closes it', 'recorded', { queued: 1, refusals: {} }],
    ['that came too late leaves it open', 'late', { queued: 0, refusals: { 'already-waiting': 1 } }],
  ] as const)('before the period: one %s', (_what, outcome, result) => {
    const queued = formFact('FormQueued', -9)
    const given = { ...finished, offerId: userIdFixture('one'), formId: 'nps', received: at(-8) }
    const formFacts = [queued, formAnswered(given, { outcome })]
    const frequency = { repeat: 'always' as const }
    expect(simulate({ frequency }, { formFacts, userFacts: [given, checkout(1)] })).toEqual(result)
  })

  it('are read by audiences and frequencies, also before the period', () => {
    const before = { ...finished, received: at(-1) }
    const audience = { answer: { form: 'nps', element: 'score' }, atMost: 6 }
    const userFacts = [before, checkout(1)]
    expect(simulate({ audience }, { userFacts }).queued).toBe(1)
    expect(simulate({ frequency: { until: 'answered' } }, { userFacts })).toEqual({
      queued: 0,
      refusals: { answered: 1 },
    })
  })
})

function formFact(type: FormFact['type'], hours: number, row = 'one'): FormFact {
  const queuedId = userIdFixture(row)
  const common = { type, id: userIdFixture(`${type}/${row}`), organization: 'acme', project: 'shop', formId: 'nps' }
  const causes = { causeId: queuedId, visitId: queuedId, catalogRevision: 1, priority: 0, showFrom: at(hours) }
  const environment = 'P'
  return FormFact.parse({ ...common, ...causes, environment, userId: ada.userId, queuedId, at: at(hours) })
}

describe('the number of times that a form was really shown', () => {
  const queued = formFact('FormQueued', -9)
  const expired = formFact('FormExpired', -8)
  const cancelled = formFact('FormCancelled', -8)
  const delivered = formFact('FormDelivered', -7)
  const queuedAnew = [formFact('FormQueued', -6, 'two'), formFact('FormDelivered', -5, 'two')]

  it.each<[string, readonly FormFact[], number]>([
    ['a delivered form', [queued, delivered], 1],
    ['an expired form', [queued, expired], 0],
    ['an expired form with a late confirmation', [queued, expired, delivered], 1],
    ['a cancelled form with a late confirmation', [queued, cancelled, delivered], 1],
    ['a form whose records are duplicated', [queued, delivered, queued, delivered], 1],
    ['an expired form whose records are duplicated', [queued, expired, delivered, queued, expired, delivered], 1],
    ['two', [queued, delivered, ...queuedAnew], 2],
  ])('%s', (_what, formFacts, times) => {
    const outcomes = [1, 2].map(
      (limit) => simulate({ frequency: { repeat: { times: limit } } }, { formFacts, userFacts: [checkout(1)] }).queued,
    )
    expect(outcomes).toEqual([times < 1 ? 1 : 0, times < 2 ? 1 : 0])
  })
})
