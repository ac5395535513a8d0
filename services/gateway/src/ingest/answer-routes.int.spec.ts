import { createHmac } from 'node:crypto'
import { encryptSigningSecret } from '@nextvisit/catalog'
import { AnswersAnswer, FormContent, OrganizationConfig } from '@nextvisit/contracts'
import { contentHashOf, userIdOf } from '@nextvisit/domain'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '@nextvisit/testing'
import { type GatewayFixture, startGateway } from '../../test/gateway-fixture.ts'
import { startService } from '../../test/service-fixture.ts'

const OFFER_ID = '0192aa00-0000-5000-8000-000000000001'
const QUESTION = FormContent.parse({
  languages: ['en', 'pt-BR'],
  elements: [
    { id: 'score', type: 'nps', required: true },
    { id: 'reason', type: 'text', maxLength: 10_000, showIf: { answer: 'score', atMost: 6 } },
  ],
})
const EDITED = FormContent.parse({ elements: [{ id: 'stars', type: 'rating' }] })
const refTo = (content: FormContent, revision: number) => ({ revision, hash: contentHashOf(content) })
const triggers = [{ visit: {} }]
const forms = [
  { id: 'nps', triggers, content: refTo(EDITED, 2) },
  { id: 'bare', triggers },
  { id: 'lost', triggers, content: refTo(QUESTION, 1) },
]
const contents = [
  { formId: 'nps', revision: 1, content: QUESTION },
  { formId: 'nps', revision: 2, content: EDITED },
  { formId: 'removed', revision: 1, content: QUESTION },
]

let gateway: GatewayFixture
/** Knows no user. */
let service: Awaited<ReturnType<typeof startService>>
beforeAll(async () => {
  service = await startService({
    lookUpUsers: async ({ questions }) => ({ answers: questions.map(() => ({ existence: 'missing' })) }),
  })
  gateway = await startGateway({ project: { forms }, contents, services: { 'user-projector': service.url } })
  await gateway.identify({ userName: 'ada' })
})
afterAll(async () => {
  await gateway.stop()
  await service.stop()
})

const ROUTES = { admin: '/v2/admin/answers', sdk: '/v2/sdk/answers' } as const

const BODY = {
  userName: 'ada',
  offerId: OFFER_ID,
  formId: 'nps',
  revision: 1,
  answers: { score: 9 },
  status: 'finished',
}

function give(members: object = {}, kind: 'admin' | 'sdk' = 'sdk', through: GatewayFixture = gateway) {
  return through.post(ROUTES[kind], { ...BODY, ...members }, gateway.keys[kind])
}

async function recordOf(requestId: unknown, through: GatewayFixture = gateway) {
  const records = (await through.records()).filter(({ fact }) => fact.id === requestId)
  return { records, fact: records[0]?.fact, text: records[0]?.text ?? '' }
}

describe.each(['admin', 'sdk'] as const)('an answer with the key of an %s', (kind) => {
  it('becomes one sealed fact, with the answers that the user saw', async () => {
    const answers = { score: 4, reason: 'canary <script>😀' }
    const { status, text, headers } = await give({ answers, language: 'PT-br', offerId: OFFER_ID.toUpperCase() }, kind)
    expect(status).toBe(202)
    const answer = AnswersAnswer.parse(JSON.parse(text))
    expect(answer).toEqual({
      requestId: headers['x-request-id'],
      status: 'finished',
      message: 'Answers recorded. The form is finished.',
    })
    const { records, fact, text: inLog } = await recordOf(answer.requestId)
    expect(records).toHaveLength(1)
    expect(fact).toMatchObject({
      type: 'AnswerGiven',
      userId: userIdOf(gateway.config.id, 'shop', 'ada'),
      offerId: OFFER_ID,
      formId: 'nps',
      revision: 1,
      status: 'finished',
      language: 'pt-BR',
      elements: { score: 'nps', reason: 'text' },
      answers,
      source: kind,
      environment: 'P',
      keyed: false,
      unchecked: [],
    })
    expect(inLog).not.toContain('canary')
    expect(inLog).toContain('"sealed"')
  })

  it.each([
    ['partial', 'Answers recorded.'],
    ['dismissed', 'Form dismissed.'],
  ])('may be %s, without any answers', async (status, message) => {
    const { body } = await give({ status, answers: [] }, kind)
    expect(body).toMatchObject({ status, message })
    const { fact } = await recordOf(body['requestId'])
    expect(fact).toMatchObject({ status, elements: {}, answers: {} })
    expect(fact).not.toHaveProperty('language')
  })

  it('has a repeat under its Idempotency-Key, which gets the first answer and no second fact', async () => {
    const headers = {
      'content-type': 'application/json',
      'x-api-key': gateway.keys[kind],
      'idempotency-key': `answer-${kind}`,
    }
    const body = { ...BODY, answers: { score: 1 }, status: 'partial' }
    const send = (sent: object) => gateway.call('POST', ROUTES[kind], headers, JSON.stringify(sent))
    const [first, repeat] = [await send(body), await send(body)]
    expect([first.status, repeat.text, repeat.headers['idempotent-replayed']]).toEqual([202, first.text, 'true'])
    expect((await recordOf(first.body['requestId'])).records).toHaveLength(1)
    expect((await send({ ...body, status: 'finished' })).status).toBe(422)
  })
})

describe('an answer is refused', () => {
  it.each<[object, number, string]>([
    [{ userName: ' ' }, 400, 'userName must be a string that is not empty'],
    [{ userName: 'nobody' }, 404, 'User not found'],
    [{ offerId: 'nps' }, 400, 'offerId must be the offerId of a delivered form, a UUID'],
    [{ formId: 'nps/1' }, 400, 'formId must be the id of a form'],
    [{ formId: 'unknown' }, 400, 'formId must name a form of this project that has content'],
    [{ formId: 'bare' }, 400, 'formId must name a form of this project that has content'],
    [{ formId: 'removed', revision: 2 }, 400, 'formId must name a form of this project that has content'],
    [{ revision: 3 }, 400, 'revision must be a revision of the content of this form'],
    [{ revision: '1' }, 400, 'revision must be a whole number of at least 1'],
    [{ formId: 'lost' }, 503, 'The content of this form cannot be read now: try again'],
    [{ status: 'done' }, 400, 'status must be partial, finished or dismissed'],
    [{ language: 'fr' }, 400, 'language must be a language of this form'],
    [{ language: 7 }, 400, 'language must be a string'],
    [{ answers: 'score' }, 400, 'answers must be an object'],
    [{ answers: { score: 11 } }, 400, 'answers.score must be a whole number from 0 to 10'],
    [{ answers: {} }, 400, 'answers.score must be given in a finished form'],
    [{ answers: { stars: 1 } }, 400, 'answers.stars must not be given: the form has no such element in this revision'],
    [{ revision: 2 }, 400, 'answers.score must not be given: the form has no such element in this revision'],
    [
      { answers: { score: 12345678901234567890n.toString() } },
      400,
      'answers.score must be a whole number from 0 to 10',
    ],
    [{ answers: { score: 1, reason: 'x'.repeat(2_000_000) } }, 413, 'The body must be at most 102400 bytes'],
    [
      { answers: { score: 1, reason: 'x'.repeat(10_001) } },
      400,
      'answers.reason must be a string of at most 10,000 characters',
    ],
  ])('%#: status and message name the fault', async (members, status, message) => {
    const before = (await gateway.records()).length
    expect((await give(members)).body).toMatchObject({ status, message })
    expect((await gateway.records()).length).toBe(before)
  })

  it('by the kind of key, and counted by the name of its rule', async () => {
    expect((await gateway.post(ROUTES.sdk, {}, gateway.keys.admin)).status).toBe(403)
    expect((await gateway.post(ROUTES.admin, {}, gateway.keys.sdk)).status).toBe(403)
    await give({ answers: { score: 11 } })
    expect((await gateway.refusals())['answerNumber']).toBeGreaterThan(0)
    const listed = async () => (await gateway.get('/v2/admin/refusals?reason=noElement')).text
    await until(async () => (await listed()).includes('answers.… must not be given'))
    expect(await listed()).not.toContain('stars')
  })
})

describe('an answer', () => {
  it('to a form that was removed or edited is checked against the content that the user saw', async () => {
    expect((await give({ formId: 'removed', answers: { score: 3 } })).status).toBe(202)
    expect((await give({ revision: 2, answers: { stars: 5 } })).status).toBe(202)
  })

  it('loses what the other answers hide', async () => {
    const { body } = await give({ answers: { score: 9, reason: 'hidden' } })
    expect((await recordOf(body['requestId'])).fact).toMatchObject({ answers: { score: 9 } })
  })

  it('asks no service: neither for the user, who is known, nor for room', async () => {
    const before = await gateway.serviceCalls()
    expect((await give()).status).toBe(202)
    expect(await gateway.serviceCalls()).toEqual(before)
  })

  it('of a user who cannot be looked up is recorded unchecked, like an event', async () => {
    const alone = await startGateway({ contents, besides: gateway })
    const { status, body } = await give({ userName: 'unchecked' }, 'sdk', alone)
    await alone.stop()
    expect(status).toBe(202)
    expect((await recordOf(body['requestId'])).fact).toMatchObject({ unchecked: ['user'] })
  })
})

describe('a project that requires signatures', () => {
  it('takes an answer of a page only with the signature of its user', async () => {
    const [shop] = gateway.config.projects
    const { id: organization } = gateway.config
    const signingSecret = encryptSigningSecret('shared secret', givenKeyRing('ab'.repeat(32)), {
      organization,
      project: 'shop',
    })
    const config = OrganizationConfig.parse({
      ...gateway.config,
      projects: [{ ...shop, requireUserSignature: true, signingSecret }],
    })
    const strict = await startGateway({ contents, besides: { ...gateway, config } })
    const userSignature = createHmac('sha256', 'shared secret').update('ada').digest('hex')
    const statuses = [
      (await give({}, 'sdk', strict)).status,
      (await give({ userSignature: 'ab' }, 'sdk', strict)).status,
      (await give({ userSignature }, 'sdk', strict)).status,
      (await give({}, 'admin', strict)).status,
    ]
    await strict.stop()
    expect(statuses).toEqual([401, 401, 202, 202])
  })
})
