import { FormContent, OrganizationConfig, VisitAnswer } from '@nextvisit/contracts'
import { contentHashOf } from '@nextvisit/domain'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GatewayFixture, type GatewayFixtureOptions, startGateway } from '../../test/gateway-fixture.ts'
import { replyAsEvaluator } from '../../test/reply-as-evaluator.ts'

const OFFER_ID = '0192aa00-0000-5000-8000-000000000001'
const QUESTION = FormContent.parse({
  languages: ['en', 'de'],
  elements: [{ id: 'score', type: 'nps', label: { en: 'How likely?', de: 'Wie wahrscheinlich?' } }],
})
const EDITED = FormContent.parse({ ...QUESTION, thanks: { en: 'Thank you.', de: 'Danke.' } })

/** Returns the forms of a workspace in which the content of `nps` has this revision, with the contents until then. */
function formsWith(content: FormContent, revision: number) {
  const ref = { revision, hash: contentHashOf(content) }
  const triggers = [{ visit: {} }]
  return [
    { id: 'nps', triggers, content: ref },
    { id: 'bare', triggers },
    { id: 'lost', triggers, content: ref },
  ]
}
const contents = [
  { formId: 'nps', revision: 1, content: QUESTION },
  { formId: 'nps', revision: 2, content: EDITED },
]

let gateway: GatewayFixture
let evaluator: ReturnType<typeof replyAsEvaluator>
beforeAll(async () => {
  gateway = await startGateway({ project: { forms: formsWith(QUESTION, 1) }, contents })
  evaluator = replyAsEvaluator(gateway)
})
afterAll(async () => {
  evaluator.stop()
  await gateway.stop()
})

/** Starts another gateway of the installation. It has read the revision with the edited content. */
async function startEdited(options: GatewayFixtureOptions = {}): Promise<GatewayFixture> {
  const [shop] = gateway.config.projects
  const config = OrganizationConfig.parse({
    ...gateway.config,
    projects: [{ ...shop, forms: formsWith(EDITED, 2) }],
  })
  return startGateway({ contents, ...options, besides: { ...gateway, config } })
}

function offering(formId: string, languages: readonly string[]) {
  return (recordId: string) => ({
    kind: 'visit',
    recordId,
    offer: { queuedId: OFFER_ID, formId, languages },
    moreWaiting: false,
  })
}

function visitWith(idempotencyKey: string, through: GatewayFixture = gateway) {
  const headers = { 'content-type': 'application/json', 'x-api-key': gateway.keys.sdk }
  const keyed = { ...headers, 'idempotency-key': idempotencyKey }
  return through.call('POST', '/v2/sdk/identify-user', keyed, '{"userName":"ada"}')
}

const visit = (formId: string, languages: readonly string[]) =>
  evaluator.whileReplying(() => gateway.visit({ userName: 'ada' }), offering(formId, languages))

describe('the answer to a visit (forms.md, Content)', () => {
  it('has the content of the form in a language of the user', async () => {
    const { status, text } = await visit('nps', ['de-CH', 'en'])
    expect(status).toBe(200)
    expect(VisitAnswer.parse(JSON.parse(text))).toMatchObject({
      nextFeedbackId: 'nps',
      nextFeedback: {
        offerId: OFFER_ID,
        formId: 'nps',
        revision: 1,
        language: 'de',
        content: { elements: [{ id: 'score', type: 'nps', label: 'Wie wahrscheinlich?', required: false }] },
      },
    })
  })

  it('is in the default language for other users', async () => {
    const { body } = await visit('nps', ['fr'])
    expect(body['nextFeedback']).toMatchObject({ language: 'en', content: { elements: [{ label: 'How likely?' }] } })
  })

  it.each(['bare', 'lost'])(
    'has no content for a form without one, or with one that is missing: %s',
    async (formId) => {
      const { body } = await visit(formId, ['de'])
      expect(body['nextFeedback']).toEqual({ offerId: OFFER_ID, formId })
    },
  )
})

describe('a kept answer with a form (decisions.md, Retries)', () => {
  it('is kept without the content, and repeated byte for byte, also by a gateway that has a later revision', async () => {
    const first = await evaluator.whileReplying(() => visitWith('visit-1'), offering('nps', ['de']))
    expect(first.text).toContain('Wie wahrscheinlich?')
    const kept = await keptAnswers()
    expect(kept).toContain(OFFER_ID)
    expect(kept).not.toContain('Wie wahrscheinlich?')

    const edited = await startEdited()
    const repeats = [await visitWith('visit-1'), await visitWith('visit-1', edited)]
    await edited.stop()
    for (const repeat of repeats)
      expect([repeat.text, repeat.headers['idempotent-replayed']]).toEqual([first.text, 'true'])
  })

  it('is repeated without content by a gateway that does not have it', async () => {
    await evaluator.whileReplying(() => visitWith('visit-2'), offering('nps', ['de']))
    const other = await startEdited({ contents: [] })
    const { body } = await visitWith('visit-2', other)
    await other.stop()
    expect(body['nextFeedback']).toEqual({ offerId: OFFER_ID, formId: 'nps' })
  })
})

describe('an edit of a form that waits', () => {
  it('is what the next visit gets', async () => {
    const edited = await startEdited()
    const own = replyAsEvaluator(edited)
    const { body } = await own.whileReplying(() => edited.visit({ userName: 'ada' }), offering('nps', ['de']))
    own.stop()
    await edited.stop()
    expect(body['nextFeedback']).toMatchObject({ revision: 2, content: { thanks: 'Danke.' } })
  })
})

/** Reads all kept answers of the installation. */
async function keptAnswers(): Promise<string> {
  const keys = await evaluator.redis.keys(`${gateway.redisPrefix}answer:*`)
  const kept = await Promise.all(keys.map((key) => evaluator.redis.hget(key, 'answer')))
  return kept.join('\n')
}
