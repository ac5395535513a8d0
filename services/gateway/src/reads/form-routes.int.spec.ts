import { randomUUID } from 'node:crypto'
import {
  type CollectedAnswer,
  FormAnswersPage,
  FormContent,
  FormResults,
  FormsPage,
  TOO_MANY_DAYS,
} from '@nextvisit/contracts'
import { contentHashOf } from '@nextvisit/domain'
import { NOT_FOUND } from '@nextvisit/service-kit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type GatewayFixture, startGateway } from '../../test/gateway-fixture.ts'
import { startService } from '../../test/service-fixture.ts'

const KEYS_UNTIL = '2026-11-02T10:01:00.000Z'
const [BEFORE, AFTER] = ['2026-11-02T09:59:00.000Z', '2026-11-02T10:00:30.000Z']
const fence = { offset: '7', keysUntil: KEYS_UNTIL, erasureId: randomUUID() }

/** Users by name, as the user projector knows them. */
const USERS = {
  ada: { userName: 'ada' },
  unknown: { userName: null },
  erased: { userName: null, fence },
  returned: { userName: 'returned', fence },
  /** The projector has folded the erasure, but not the return. */
  back: { userName: null, fence },
  suppressed: { userName: 'suppressed' },
  /** The projector has not folded the erasure. */
  lagging: { userName: 'lagging' },
}
type Name = keyof typeof USERS
const ids = new Map(Object.keys(USERS).map((name) => [name as Name, randomUUID() as string]))
const idOf = (name: Name) => ids.get(name) ?? ''
const nameOf = (userId: string) => [...ids].find(([, id]) => id === userId)?.[0] ?? 'unknown'

/** `erasedUntil`: the collector has folded the erasure of the user. */
const answerOf = (name: Name, startedAt = AFTER, erasedUntil?: string): CollectedAnswer => ({
  answerId: randomUUID(),
  userId: idOf(name),
  offerId: randomUUID(),
  revision: 1,
  language: 'en',
  environment: 'P',
  status: 'finished',
  answers: { score: 9, reason: '=1+1 <script> 😀' },
  startedAt,
  endedAt: startedAt,
  causeId: randomUUID(),
  ...(erasedUntil && { erasedUntil }),
})
const ANSWERS = [
  answerOf('ada'),
  answerOf('unknown'),
  answerOf('erased'),
  answerOf('returned', AFTER, KEYS_UNTIL),
  answerOf('back', AFTER, KEYS_UNTIL),
  answerOf('suppressed'),
  answerOf('lagging'),
  answerOf('ada', BEFORE),
]
const NEXT = `${BEFORE}_${ANSWERS[7]?.offerId}`

const CONTENT = FormContent.parse({ languages: ['en', 'pt-BR'], elements: [{ id: 'score', type: 'nps' }] })
const FUNNEL = { queued: 5, delivered: 4, started: 3, finished: 2, dismissed: 1, expired: 0 }
const RESULTS: FormResults = {
  funnel: FUNNEL,
  responseRate: 0.5,
  medianSecondsToAnswer: 12.5,
  unmatched: 1,
  elements: [{ id: 'score', type: 'nps', count: 1, average: 9, distribution: [{ value: 9, count: 1 }], nps: 100 }],
}
const NONE = { ...FUNNEL, queued: 0, delivered: 0, started: 0, finished: 0, dismissed: 0 }
/** Forms with counts. `old` is no longer in the workspace. */
const COUNTED = ['ces', 'old']
/** A range from then on has too many days, and lacks some. */
const TOO_EARLY = '2024-01-02'

let gateway: GatewayFixture
let service: Awaited<ReturnType<typeof startService>>
beforeAll(async () => {
  service = await startService({
    readFormFunnels: async ({ limit, after = '' }) => {
      const forms = COUNTED.filter((formId) => formId > after)
      return {
        forms: forms.slice(0, limit).map((formId) => ({ formId, funnel: FUNNEL, responseRate: 0.5, unmatched: 1 })),
        next: forms.length > limit ? (forms[limit - 1] ?? null) : null,
        stale: true,
      }
    },
    readFormResults: async ({ formId, from }) => {
      if (from === TOO_EARLY) return TOO_MANY_DAYS
      return COUNTED.includes(formId) ? RESULTS : NOT_FOUND
    },
    readFormAnswers: async ({ formId, after }) => {
      if (!COUNTED.includes(formId)) return NOT_FOUND
      return { answers: after === undefined ? ANSWERS : [], next: after === undefined ? NEXT : null }
    },
    readUserNames: async ({ questions }) => ({ answers: questions.map(({ userId }) => USERS[nameOf(userId)]) }),
  })
  gateway = await startGateway({
    project: {
      forms: [
        { id: 'nps', name: 'NPS', triggers: [{ visit: {} }], content: { revision: 1, hash: contentHashOf(CONTENT) } },
        { id: 'ces', enabled: false, triggers: [{ visit: {} }] },
      ],
    },
    contents: [{ formId: 'nps', revision: 1, content: CONTENT }],
    services: { 'user-projector': service.url, 'answer-collector': service.url },
    fences: {
      isSuppressed: ({ userId }) => userId === idOf('suppressed'),
      keysUntilOf: (userId) => (userId === idOf('lagging') ? Date.parse(KEYS_UNTIL) : undefined),
    },
  })
})
afterAll(async () => {
  await gateway.stop()
  await service.stop()
})

/** Returns the message while a part does not answer. */
const late = (part: string) => `This cannot be read now, because the ${part} is late or unavailable: try again`

const asked = () => service.calls.at(-1)?.question

describe('GET /v2/admin/forms (forms.md, Results)', () => {
  it('lists forms of the workspace and removed ones with counts, by id', async () => {
    const { status, body } = await gateway.get('/v2/admin/forms')
    expect(status).toBe(200)
    const counts = { funnel: FUNNEL, responseRate: 0.5, unmatched: 1 }
    expect(FormsPage.parse(body)).toEqual({
      forms: [
        { formId: 'ces', name: null, enabled: false, ...counts },
        { formId: 'nps', name: 'NPS', enabled: true, funnel: NONE, responseRate: null, unmatched: 0 },
        { formId: 'old', name: null, enabled: false, removed: true, ...counts },
      ],
      next: null,
      stale: true,
    })
    expect(asked()).toMatchObject({ environment: 'P', limit: 100 })
  })

  it('lists each form once in pages of any size', async () => {
    for (const limit of [1, 2, 3]) {
      const listed: string[] = []
      let after: string | null = ''
      while (after !== null) {
        const query: string = after && `&after=${after}`
        const page = FormsPage.parse((await gateway.get(`/v2/admin/forms?environment=T&limit=${limit}${query}`)).body)
        expect(page.forms.length).toBeLessThanOrEqual(limit)
        listed.push(...page.forms.map(({ formId }) => formId))
        after = page.next
      }
      expect(listed).toEqual(['ces', 'nps', 'old'])
    }
  })
})

describe('GET /v2/admin/forms of a project with many forms', () => {
  const formIds = Array.from({ length: 250 }, (_, nth) => `form-${1_000 + nth}`)
  let questions: { readonly after?: string | undefined; readonly limit: number }[] = []
  let failsAfter = ''
  let collector: Awaited<ReturnType<typeof startService>>
  let ofMany: GatewayFixture
  beforeAll(async () => {
    collector = await startService({
      readFormFunnels: async ({ limit, after = '' }) => {
        questions.push({ after, limit })
        if (after !== '' && after === failsAfter) throw new Error('This call fails')
        const left = formIds.filter((formId) => formId > after)
        const forms = left.slice(0, limit).map((formId) => ({ formId, funnel: FUNNEL, responseRate: 1, unmatched: 0 }))
        return { forms, next: left.length > limit ? (forms.at(-1)?.formId ?? null) : null }
      },
    })
    ofMany = await startGateway({ besides: gateway, services: { 'answer-collector': collector.url } })
  })
  beforeEach(() => {
    questions = []
    failsAfter = ''
  })
  afterAll(async () => {
    await ofMany.stop()
    await collector.stop()
  })

  const list = async (query: string) => {
    const { forms, next } = FormsPage.parse((await ofMany.get(`/v2/admin/forms?${query}`)).body)
    return { ids: forms.map(({ formId }) => formId), next }
  }

  it('reads its funnels in calls of at most 100 forms', async () => {
    // The project of the workspace has two further forms.
    expect(await list('limit=1000')).toEqual({ ids: ['ces', ...formIds, 'nps'], next: null })
    expect(questions).toEqual([
      { after: '', limit: 100 },
      { after: formIds[99], limit: 100 },
      { after: formIds[199], limit: 100 },
    ])
  })

  it('asks for no more forms than the page has, and names the last one', async () => {
    expect(await list('limit=150&after=d')).toEqual({ ids: formIds.slice(0, 150), next: formIds[149] })
    expect(questions).toEqual([
      { after: 'd', limit: 100 },
      { after: formIds[99], limit: 50 },
    ])
    expect(await list(`limit=150&after=${formIds[149]}`)).toEqual({ ids: [...formIds.slice(150), 'nps'], next: null })
  })

  it('answers 503 if a later call fails, and no part of the list', async () => {
    failsAfter = formIds[199] ?? ''
    expect(await ofMany.get('/v2/admin/forms?limit=1000')).toMatchObject({ status: 503 })
    expect((await ofMany.get('/v2/admin/forms?limit=200')).status).toBe(200)
  })
})

describe('GET /v2/admin/forms/{formId}/results (forms.md, Results)', () => {
  it('hands the results on, also those of a removed form', async () => {
    for (const formId of COUNTED) {
      const { status, body } = await gateway.get(`/v2/admin/forms/${formId}/results?from=2026-11-01&to=2026-12-01`)
      expect([status, FormResults.parse(body)]).toEqual([200, RESULTS])
      expect(asked()).toMatchObject({ formId, environment: 'P', from: '2026-11-01', to: '2026-12-01' })
    }
  })

  it.each([{}, { from: '2025-01-01' }, { to: '2026-02-06' }, { from: '2000-01-01', to: '9999-12-31' }])(
    'are asked for the days of %j',
    async (days) => {
      expect((await gateway.get(`/v2/admin/forms/ces/results?${String(new URLSearchParams(days))}`)).status).toBe(200)
      const { from, to } = Object(asked())
      expect({ from, to }).toEqual({ from: undefined, to: undefined, ...days })
    },
  )

  it('are 0 for a form of the workspace without counts', async () => {
    const none = { responseRate: null, medianSecondsToAnswer: null, unmatched: 0, elements: [] }
    expect(FormResults.parse((await gateway.get('/v2/admin/forms/nps/results')).body)).toEqual({
      funnel: NONE,
      ...none,
    })
    const { queued: _, expired: __, ...ofLanguage } = NONE
    const inEnglish = await gateway.get('/v2/admin/forms/nps/results?language=en')
    expect(FormResults.parse(inEnglish.body)).toEqual({ funnel: ofLanguage, ...none })
  })

  it.each([
    ['nps', 'PT-br', 'pt-BR'],
    ['nps', 'fr', 'fr'],
    ['old', 'de', 'de'],
  ])('of %s in the language %s are read as the form writes it', async (formId, language, written) => {
    await gateway.get(`/v2/admin/forms/${formId}/results?language=${language}`)
    expect(asked()).toMatchObject({ language: written })
  })

  it.each([
    ['from=27.11.2026', /^from must be a day/],
    ['from=', /^from must be a day/],
    ['to=2026-13-01', /^to must be a day/],
    ['to=0000-01-01', /^to must be a day/],
    ['from=2026-11-27&to=2026-11-26', /^from must be before to/],
    [`from=${TOO_EARLY}`, /^from and to must enclose at most 400 of the form's days, or all of them/],
    ['environment=prod', /^environment must be P/],
    ['language=%3Cscript%3E', /^language must be a language tag/],
  ])('answers 400 for %s', async (query, message) => {
    const { status, body } = await gateway.get(`/v2/admin/forms/ces/results?${query}`)
    expect([status, body]).toEqual([400, expect.objectContaining({ message: expect.stringMatching(message) })])
  })

  it.each(['nothing', '__proto__', 'NPS', '%00'])('answers 404 for %s, which is no form', async (formId) => {
    const notFound = { status: 404, error: 'Not Found', message: 'Form not found' }
    for (const page of ['results', 'answers'])
      expect(await gateway.get(`/v2/admin/forms/${formId}/${page}`)).toMatchObject({ status: 404, body: notFound })
  })

  it('needs an admin key, and answers 503 with Retry-After, naming the service, while one is unavailable', async () => {
    const alone = await startGateway({ besides: gateway })
    const withoutNames = await startGateway({ besides: gateway, services: { 'answer-collector': service.url } })
    const answers = [
      ...(await Promise.all(['', '/ces/results', '/ces/answers'].map((path) => alone.get(`/v2/admin/forms${path}`)))),
      await withoutNames.get('/v2/admin/forms/ces/answers'),
    ]
    await alone.stop()
    await withoutNames.stop()
    const collector = [503, '1', late('answer collector')]
    expect(answers.map(({ status, headers, body }) => [status, headers['retry-after'], body['message']])).toEqual([
      collector,
      collector,
      collector,
      [503, '1', late('user projector')],
    ])
    expect((await gateway.get('/v2/admin/forms', gateway.keys.sdk)).status).toBe(403)
  })
})

describe('GET /v2/admin/forms/{formId}/answers (forms.md, Results)', () => {
  it('adds names, and leaves out answers of erased users, also while a service lags', async () => {
    const page = FormAnswersPage.parse((await gateway.get('/v2/admin/forms/old/answers')).body)
    const shown = page.answers.map(({ userName, startedAt }) => [userName, startedAt])
    expect(shown).toEqual([
      ['ada', AFTER],
      [null, AFTER],
      ['returned', AFTER],
      [null, AFTER],
      ['ada', BEFORE],
    ])
    expect(page.answers[0]).toEqual({ ...ANSWERS[0], userName: 'ada' })
    expect(page.next).toBe(NEXT)
  })

  it('hands position, environment and limit on', async () => {
    const query = `after=${NEXT}&environment=T&limit=7`
    expect((await gateway.get(`/v2/admin/forms/ces/answers?${query}`)).body).toEqual({ answers: [], next: null })
    expect(asked()).toMatchObject({ formId: 'ces', after: NEXT, environment: 'T', limit: 7 })
  })

  it('are none of a form without counts', async () => {
    expect((await gateway.get('/v2/admin/forms/nps/answers')).body).toEqual({ answers: [], next: null })
  })

  it.each([
    'after=x',
    `after=2026-99-01T00:00:00.000Z_${randomUUID()}`,
    `after=0000-01-01T00:00:00.000Z_${randomUUID()}`,
    `after=${AFTER}_${randomUUID().toUpperCase()}`,
    `after=${AFTER}_${'-'.repeat(36)}`,
    `after=${NEXT}_`,
    'limit=0',
  ])('answers 400 for %s', async (query) =>
    expect((await gateway.get(`/v2/admin/forms/ces/answers?${query}`)).status).toBe(400),
  )
})
