import { type EventTracked, Form, ProjectConfig, type UserFact } from '@nextvisit/contracts'
import { answerGiven, eventTracked, identifyRequested, visit, visitAnswered } from '@nextvisit/contracts/fixtures'
import * as fc from 'fast-check'
import type { History } from './audit-history.ts'
import { createSimulatedEvaluator, type SimulatedEvaluator } from './simulated-evaluator.ts'

const START = Date.parse('2026-11-02T10:00:00.000Z')
const SECOND = 1_000
const at = (ms: number): string => new Date(START + ms).toISOString()

/** State of a story. */
interface Told {
  readonly evaluator: SimulatedEvaluator
  project: ProjectConfig
  /** Time after the start in ms. */
  now: number
  /** Seconds since the evaluator last read the catalog. */
  unnoticed: number
  /** Unpublished confirmations of offers. */
  readonly answers: UserFact[]
  /** Offers so far. */
  readonly offers: { readonly userId: string; readonly offerId: string; readonly formId: string }[]
}
type Step = (told: Told) => void

/** Clock differences of two gateways and the evaluator, within the audit's tolerance. */
const skew = fc.constantFrom(0, 0, 0, -3 * SECOND, 2 * SECOND)
const userName = fc.constantFrom('ada', 'ada', 'bob')

const identify: fc.Arbitrary<Step> = fc
  .record({ userName, plan: fc.constantFrom('pro', 'free') })
  .map((said) => (told) => {
    const operations = { set: { plan: said.plan } }
    told.evaluator.fold(identifyRequested({ userName: said.userName, received: at(told.now), operations }), false)
  })

const track: fc.Arbitrary<Step> = fc
  .record({
    userName,
    skew,
    eventName: fc.constantFrom('checkout', 'search'),
    source: fc.constantFrom('sdk' as const, 'admin' as const),
    age: fc.constantFrom(0, 0, 0, 5 * 60 * SECOND, 20 * 60 * SECOND),
    properties: fc.constantFrom<EventTracked['properties'][]>(
      undefined,
      { total: 100 },
      { total: '100', 'cart.total': 40 },
      { total: 1, tags: ['new', 1] },
      { total: 1, tags: ['new', ...Array.from({ length: 30 }, () => '😀'.repeat(130))] },
      { cart: { total: 150, items: [{}] }, at: '2026-11-02T10:00:00Z' },
      JSON.parse('{"__proto__":{"total":100},"tags":[{}],"total":null}'),
    ),
  })
  .map(({ age, skew: ahead, ...said }) => (told) => {
    const received = at(told.now + ahead)
    const occurredAt = at(told.now + ahead - age)
    told.evaluator.fold(
      eventTracked({ ...said, received, occurredAt, evaluateTriggers: age <= 15 * 60 * SECOND }),
      true,
    )
  })

/** Visits whose answer is published at once, later, or never. */
const visits: fc.Arbitrary<Step> = fc
  .record({
    userName,
    skew,
    isAwaited: fc.constantFrom(true, true, true, false),
    answered: fc.constantFrom('at once', 'at once', 'later', 'never'),
  })
  .map(({ isAwaited, answered, ...said }) => ({ evaluator, now, answers, offers }) => {
    const fact = visit({ userName: said.userName, received: at(now + said.skew) })
    const offer = evaluator.fold(fact, isAwaited)
    if (offer) offers.push({ userId: fact.userId, offerId: offer.queuedId, formId: offer.formId })
    if (!offer || answered === 'never') return
    const { id: visitId, userId, received } = fact
    const answer = visitAnswered({ id: crypto.randomUUID(), visitId, userId, received, ...offer })
    if (answered === 'later') answers.push(answer)
    else evaluator.fold(answer, false)
  })

/** Answers to the last offers, most often of the user who has it. */
const answerOffers: fc.Arbitrary<Step> = fc
  .record({
    skew,
    back: fc.constantFrom(1, 1, 2, 3),
    by: fc.constantFrom(undefined, undefined, undefined, 'bob'),
    status: fc.constantFrom('partial' as const, 'partial' as const, 'finished' as const, 'dismissed' as const),
    answers: fc.constantFrom({ score: 9 }, {}),
  })
  .map(({ skew: ahead, back, by, ...said }) => ({ evaluator, now, offers }) => {
    const offer = offers.at(-back)
    if (!offer) return
    const whose = by === undefined ? { userId: offer.userId } : { userName: by }
    const { offerId, formId } = offer
    evaluator.fold(answerGiven({ ...said, offerId, formId, ...whose, received: at(now + ahead) }), false)
  })

const answersLater: fc.Arbitrary<Step> = fc.constant(({ evaluator, answers }) => {
  const answer = answers.shift()
  if (answer) evaluator.fold(answer, false)
})

const ticks: fc.Arbitrary<Step> = skew.map(
  (ahead) =>
    ({ evaluator, now }) =>
      evaluator.tick(at(now + ahead)),
)

/** Passage of time. The evaluator learns a revision after some seconds. */
const passes: fc.Arbitrary<Step> = fc
  .constantFrom(1, 5, 10, 20, 29, 30, 31, 60, 300, 600, 3_600, 7_200, 90_000)
  .map((seconds) => (told) => {
    told.unnoticed += seconds
    if (told.unnoticed > 5) {
      told.evaluator.noticeCatalog()
      told.unnoticed = 0
    }
    told.now += seconds * SECOND
  })

const TRIGGERS = {
  'on-checkout': [{ event: 'Checkout' }],
  'on-searching': [{ event: 'search', count: 2, within: '1h' }],
  'in-session': [{ event: 'checkout', count: 2, since: 'session' }],
  welcome: [{ visit: {} }, { firstSeen: { after: '20m' } }],
  'on-large-checkout': [
    {
      event: 'checkout',
      where: {
        any: [
          { property: 'total', atLeast: 100 },
          { property: 'tags', contains: 'new' },
        ],
      },
    },
    {
      event: 'checkout',
      where: { all: [{ property: 'cart.total', exists: true }, { not: { property: 'at', before: '-1m' } }] },
    },
    { event: 'search', where: { property: '__proto__.total', isNot: 100 } },
  ],
  'on-many-large': [
    { event: 'checkout', count: 2, within: '1h', where: { not: { property: 'total', lessThan: 100 } } },
    { event: 'search', count: 2, since: 'session', where: { property: 'total', is: 1 } },
    { event: 'search', count: 3, where: { property: 'at', after: '-30d' } },
  ],
} as const
const formIds = Object.keys(TRIGGERS) as (keyof typeof TRIGGERS)[]

function formOf(id: keyof typeof TRIGGERS): fc.Arbitrary<Form> {
  return fc
    .record({
      enabled: fc.constantFrom(true, true, true, true, false),
      startsAt: fc.constantFrom(undefined, undefined, at(600 * SECOND)),
      endsAt: fc.constantFrom(undefined, undefined, at(7_200 * SECOND)),
      audience: fc.constantFrom<Form['audience'][]>(
        undefined,
        undefined,
        { any: [{ segment: 'searching' }, { not: { trait: 'plan', is: 'pro' } }] },
        { all: [{ event: 'checkout', atMost: 3, within: '10m' }, { country: { exists: false } }] },
        {
          all: [
            { event: 'checkout', atMost: 1, within: '2h', where: { property: 'total', is: 1 } },
            { segment: 'tagged' },
          ],
        },
      ),
      sample: fc.constantFrom(100, 100, 100, 50),
      repeat: fc.constantFrom('once', 'always', 'always', { times: 2 }, { every: '10m' }),
      ignore: fc.constantFrom(false, false, true),
      priority: fc.constantFrom(-1, 0, 0, 5),
      delay: fc.constantFrom('0s', '0s', '30s', '1h'),
      expiresAfter: fc.constantFrom(undefined, undefined, '15s', '10m', '3h'),
    })
    .map(({ repeat, ignore, ...given }) =>
      Form.parse({ id, triggers: TRIGGERS[id], ...given, frequency: { repeat }, cooldown: { ignore } }),
    )
}

const formCooldown = fc.constantFrom('0s', '0s', '10s', '1m', '5m')

const projects: fc.Arbitrary<ProjectConfig> = fc
  .tuple(formCooldown, ...formIds.map(formOf))
  .map(([cooldown, ...forms]) =>
    ProjectConfig.parse({
      id: 'shop',
      formCooldown: cooldown,
      segments: [
        { id: 'searching', where: { event: 'search', atLeast: 1, within: '2h' } },
        { id: 'tagged', where: { not: { event: 'Search', atLeast: 2, where: { property: 'tags', contains: 'new' } } } },
      ],
      forms,
    }),
  )

/** Changes or removals of a form. */
const changes: fc.Arbitrary<Step> = fc
  .constantFrom(...formIds)
  .chain((id) => fc.tuple(fc.constant(id), fc.option(formOf(id), { freq: 3 })))
  .map(([id, form]) => (told) => {
    const others = told.project.forms.filter((other) => other.id !== id)
    told.project = { ...told.project, forms: form ? [...others, form] : others }
    told.evaluator.apply(told.project, at(told.now))
  })

const steps = fc.array(
  fc.oneof(
    { weight: 2, arbitrary: identify },
    { weight: 6, arbitrary: track },
    { weight: 6, arbitrary: visits },
    { weight: 2, arbitrary: answersLater },
    { weight: 3, arbitrary: answerOffers },
    { weight: 3, arbitrary: ticks },
    { weight: 5, arbitrary: passes },
    { weight: 1, arbitrary: changes },
  ),
  { minLength: 20, maxLength: 80, size: 'max' },
)

/** Histories of a correct evaluator after arbitrary steps and a final pause. */
export const histories: fc.Arbitrary<History> = fc.tuple(projects, steps).map(([project, happening]) => {
  const evaluator = createSimulatedEvaluator()
  const told: Told = { evaluator, project, now: 0, unnoticed: 0, answers: [], offers: [] }
  evaluator.apply(project, at(-3_600 * SECOND))
  evaluator.noticeCatalog()
  for (const step of happening) step(told)
  evaluator.noticeCatalog()
  // An offered row of a removed form first waits again; the next tick cancels it.
  for (const after of [120, 121, 122]) evaluator.tick(at(told.now + after * SECOND))
  return { ...evaluator.history(at(told.now + 123 * SECOND)), isAtRest: true }
})
