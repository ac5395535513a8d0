import { randomUUID } from 'node:crypto'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { type CollectedAnswer, ResultDays } from '@nextvisit/contracts'
import { organizationConfig } from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { givenNoServices } from '../../test/given-no-services.ts'
import { callRoute, givenSession } from '../../test/given-session.ts'
import { answered, refuse } from '../http/api-route.ts'
import { NOT_FOUND, noAnswerOf } from '../services.ts'
import { createFormRoutes } from './routes.ts'

const NOW = Date.parse('2026-11-27T12:00:00.000Z')
const UNTIL = '2026-11-20T12:01:00.000Z'
const FORM = { organization: 'acme', project: 'shop', formId: 'nps' }
const lookups = staticCatalog([organizationConfig({ id: 'acme', projects: [{ id: 'shop' }] })])
const services = givenNoServices()
type Services = typeof services

/** Users by id: their names, and whether the gateway knows an erasure of them. */
const [ada, erased, suppressed] = [randomUUID(), randomUUID(), randomUUID()]
const fence = { offset: '7', keysUntil: UNTIL, erasureId: randomUUID() }

const answerOf = (userId: string, special: Partial<CollectedAnswer> = {}): CollectedAnswer => ({
  answerId: randomUUID(),
  userId,
  offerId: randomUUID(),
  revision: 1,
  language: null,
  environment: 'P',
  status: 'finished',
  answers: { reason: `The text of ${userId}` },
  startedAt: UNTIL,
  endedAt: UNTIL,
  causeId: randomUUID(),
  ...special,
})

/** Creates the routes beside a collector that lags: it has the answers of all users. */
function givenRoutes({
  gateway,
  projector,
  collector,
  nowMs = () => NOW,
}: { [Name in 'gateway' | 'projector' | 'collector']?: Partial<Services[Name]> } & {
  readonly nowMs?: () => number
} = {}) {
  const routes = createFormRoutes({
    ...services,
    catalog: async () => ({ ...lookups, projects: () => [...lookups.projects()] }),
    contents: () => Promise.reject(new Error('not asked')),
    collector: {
      ...services.collector,
      readFormAnswers: async () =>
        answered({ answers: [ada, erased, suppressed].map((id) => answerOf(id)), next: null }),
      ...collector,
    },
    gateway: {
      ...services.gateway,
      readKnownErasures: async ({ userIds }) =>
        answered({
          users: userIds.map((userId) => ({
            isSuppressed: userId === suppressed,
            ...(userId === erased && { keysUntil: UNTIL }),
          })),
        }),
      ...gateway,
    },
    projector: {
      ...services.projector,
      readUserNames: async ({ questions }) =>
        answered({ answers: questions.map(({ userId }) => ({ userName: userId })) }),
      ...projector,
    },
    evaluator: { ...services.evaluator, readOpenCounts: async () => answered({ forms: [] }) },
    evaluators: async () => [
      { ...services.evaluator, readGateCounts: async () => answered({ since: UNTIL, forms: [] }) },
    ],
    nowMs,
  })
  return (name: keyof typeof routes, input: object = {}) =>
    callRoute(routes[name], { ...FORM, ...input }, givenSession('operator'))
}

describe('the list of forms', () => {
  const steps = { queued: 1, delivered: 1, started: 1, finished: 1, dismissed: 0, expired: 0 }

  it('has removed forms, which the collector is asked for every ten seconds at most', async () => {
    const asked: unknown[] = []
    let now = NOW
    const ask = givenRoutes({
      nowMs: () => now,
      collector: {
        readFormFunnels: async ({ formIds, environment }) => {
          asked.push(formIds ?? 'all')
          const forms = (formIds ?? ['gone']).map((formId) => ({
            formId,
            funnel: { ...steps, queued: environment === 'T' ? 2 : 1 },
            responseRate: 1,
            unmatched: 0,
          }))
          return answered({ forms, next: null })
        },
      },
    })
    const list = () => ask('listForms', { environment: 'T', find: '', page: 1 })
    const gone = { formId: 'gone', state: 'gone', funnel: { queued: 2 } }
    expect(await list()).toMatchObject({ answer: { forms: [gone], total: 1 } })
    await list()
    expect(asked).toEqual(['all', ['gone'], ['gone']])
    now += 10_000
    await list()
    expect(asked.slice(3)).toEqual(['all', ['gone']])
  })

  it('has all removed forms, of which the collector answers a page at a time', async () => {
    const all = Array.from({ length: 250 }, (_, nth) => `gone-${1_000 + nth}`)
    const limits: number[] = []
    const ask = givenRoutes({
      collector: {
        readFormFunnels: async ({ formIds, limit, after = '' }) => {
          limits.push(limit)
          const ids = (formIds ?? all).filter((id) => id > after)
          const forms = ids.slice(0, limit).map((formId) => ({ formId, funnel: steps, responseRate: 1, unmatched: 0 }))
          return answered({ forms, next: ids.length > limit ? (ids[limit - 1] ?? null) : null })
        },
      },
    })
    expect(await ask('listForms', { environment: 'P', find: '', page: 5 })).toMatchObject({
      answer: { forms: all.slice(200).map((formId) => ({ formId })), total: 250 },
    })
    expect(Math.max(...limits)).toBe(100)
  })
})

describe('the results of a form', () => {
  it('are of the whole time, with charts of at most 400 days, or of the chosen days', async () => {
    const asked: unknown[] = []
    const note = async ({
      days,
      from,
      to,
    }: {
      readonly days?: unknown
      readonly from?: unknown
      readonly to?: unknown
    }) => {
      asked.push(days ?? (from && { from, to }))
      return refuse(404, NOT_FOUND, 'Nothing was counted')
    }
    const ask = givenRoutes({ collector: { readFormResults: note, readFormDays: note } })
    const charts = { from: '2025-10-24', to: '2026-11-28' }
    const answer = { from: null, chartsFrom: charts.from, to: '2026-11-27' }
    expect(await ask('readFormResults', { environment: 'P', days: 'all' })).toMatchObject({ answer })
    expect(asked).toEqual([undefined, charts])
    expect(ResultDays.safeParse(charts).success).toBe(true)
    await ask('readFormResults', { environment: 'P', days: '7' })
    expect(asked.slice(2)).toEqual([1, 2].map(() => ({ from: '2026-11-21', to: '2026-11-28' })))
  })
})

describe('the answers to a form', () => {
  it('are without those of erased and suppressed users, also while services lag, and the page counts them', async () => {
    const page = await givenRoutes()('readFormAnswers')
    expect(page).toMatchObject({ answer: { answers: [{ userId: ada, userName: ada }], leftOut: 2 } })
    expect(JSON.stringify(page)).not.toMatch(new RegExp(`${erased}|${suppressed}`))
  })

  it('of a user who returned are shown, without the name until the projector knows it', async () => {
    const ask = givenRoutes({
      collector: {
        readFormAnswers: async () => answered({ answers: [answerOf(erased, { erasedUntil: UNTIL })], next: null }),
      },
      projector: { readUserNames: async () => answered({ answers: [{ userName: null, fence }] }) },
    })
    expect(await ask('readFormAnswers')).toMatchObject({
      answer: { answers: [{ userId: erased, userName: null }], leftOut: 0 },
    })
  })

  it.each([
    ['the user projector does not answer', { projector: { readUserNames: async () => noAnswerOf('user-projector') } }],
    ['no gateway answers', { gateway: { readKnownErasures: async () => noAnswerOf('gateway') } }],
    [
      'the gateway has not read the erasures',
      { gateway: { readKnownErasures: async () => answered({ users: null }) } },
    ],
  ])('are not shown while %s, and the refusal says so', async (_, own) => {
    const refused = await givenRoutes(own)('readFormAnswers')
    expect(refused).toMatchObject({
      outcome: 'refused',
      status: 503,
      message: expect.stringMatching(/projector|gateway/),
    })
  })
})
