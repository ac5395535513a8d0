import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { eventually, keyNamed, type ThrowAwayStack, workspaceVariables } from '@nextvisit/testing/black-box'
import { expect } from 'vitest'
import { createStackCaller, createStackCommands } from './stack-commands.ts'

const PROJECT = 'polled/shop'

export const QUESTIONS = `
                - { id: score, type: nps, label: { en: How likely?, de: Wie wahrscheinlich? }, required: true }
                - { id: reason, type: text }
                - { id: plan, type: choice, other: true, options: [{ id: monthly, label: Monthly }, { id: yearly, label: Yearly }] }
                - { id: uses, type: choices, options: [{ id: work, label: Work }, { id: home, label: Home }] }
                - { id: contact, type: consent, label: Call me }`

export const organization = (elements = QUESTIONS, removed = '') => `
  - id: polled
    projects:
      - id: shop
        rateLimits: { admin: { perSecond: 5000, burst: 9000 }, sdk: { perSecond: 5000, burst: 9000 } }
        keys:
          - { name: backend, kind: admin, environment: P, secret: $POLLED_ADMIN_P, mayErase: true }
          - { name: web, kind: sdk, environment: P, secret: $POLLED_SDK_P }
          - { name: backend-test, kind: admin, environment: T, secret: $POLLED_ADMIN_T }
          - { name: web-test, kind: sdk, environment: T, secret: $POLLED_SDK_T }
        forms:
          - id: nps
            triggers: [{ event: bought }]
            frequency: { repeat: always }
            content:
              languages: [en, de]
              elements: ${elements}
          - { id: unused, triggers: [{ event: never }], content: { elements: [{ id: stars, type: rating }] } }
${removed}`
export const GONE =
  '          - { id: gone, triggers: [{ event: left }], content: { elements: [{ id: stars, type: rating }] } }'

/** The organization of these people, for the workspace file of the stack. */
export const RESULTS_WORKSPACE = organization(QUESTIONS, GONE)

export type Body = Readonly<Record<string, unknown>>
type Environment = 'P' | 'T'
interface Offer {
  readonly offerId: string
  readonly formId: string
  readonly revision: number
  readonly language: string
}
interface Answer extends Body {
  readonly answerId: string
  readonly userName: string
  readonly answers: Body
}

/** A key with an `Idempotency-Key`: a busy machine may need a second try. */
export const keyed = (key: string) => ({ key: keyNamed(key), headers: { 'idempotency-key': randomUUID() } })

/** Returns functions that act as the people of this organization, and read results. */
export function createPolledPeople(stackOf: () => ThrowAwayStack) {
  const { nextvisit } = createStackCommands(stackOf, workspaceVariables(RESULTS_WORKSPACE))
  const { post, get } = createStackCaller(stackOf, () => keyNamed('POLLED_ADMIN_P'))
  const offers = new Map<string, Offer>()

  async function queue(userName: string, eventName: string, language = 'en', environment: Environment = 'P') {
    const body = { userName, $deviceInfo: { $userLanguage: language } }
    expect((await post('/v2/admin/identify-user', body)).status).toBe(200)
    const tracked = await post('/v2/admin/track-event', { userName, eventName }, keyed(`POLLED_ADMIN_${environment}`))
    expect(tracked.status).toBe(202)
  }

  async function deliver(userName: string, environment: Environment = 'P'): Promise<void> {
    // The form may be queued late on a busy machine.
    const visit = () => post('/v2/sdk/identify-user', { userName }, { key: keyNamed(`POLLED_SDK_${environment}`) })
    const { body } = await eventually(visit, (visited) => visited.body['nextFeedback'] !== undefined, 60_000, 500)
    offers.set(userName, body['nextFeedback'] as Offer)
  }

  async function offer(userName: string, language?: string, environment?: Environment, eventName = 'Bought') {
    await queue(userName, eventName, language, environment)
    await deliver(userName, environment)
  }

  async function give(userName: string, status: string, answers: Body, environment: Environment = 'P', own: Body = {}) {
    const { offerId, formId, revision, language } = offers.get(userName) ?? {}
    const body = { userName, offerId, formId, revision, language, answers, status, ...own }
    return (await post('/v2/sdk/answers', body, keyed(`POLLED_SDK_${environment}`))).status
  }

  /** Reads results that lack no record of form-events. */
  const results = async (query = '', formId = 'nps') =>
    (
      await eventually(
        () => get(`/v2/admin/forms/${formId}/results${query}`),
        ({ body }) => body['stale'] === undefined,
        30_000,
        500,
      )
    ).body
  /** Waits for the results with this funnel. */
  async function resultsWith(funnel: Body, query?: string, formId?: string): Promise<Body> {
    const isFolded = ({ funnel: folded }: Body) => isDeepStrictEqual(folded, funnel)
    const found = await eventually(() => results(query, formId), isFolded, 60_000, 500)
    expect(found['funnel']).toEqual(funnel)
    return found
  }
  async function pages(limit: number, between = async () => {}): Promise<readonly Answer[]> {
    const found: Answer[] = []
    let after: string | null = null
    do {
      const query: string = after === null ? '' : `&after=${after}`
      const { body } = await get(`/v2/admin/forms/nps/answers?limit=${limit}${query}`)
      found.push(...(body['answers'] as Answer[]))
      if (after === null) await between()
      after = body['next'] as string | null
    } while (after !== null)
    return found
  }
  async function apply(file: string, workspace: string): Promise<void> {
    await writeFile(file, `organizations:${workspace}`)
    expect(await nextvisit('apply', file)).toMatchObject({ exitCode: 0 })
  }
  const exportAnswers = (...args: readonly string[]) =>
    nextvisit('answers', 'export', '--project', PROJECT, '--form', 'nps', ...args)
  return { post, get, offers, queue, offer, give, results, resultsWith, pages, apply, exportAnswers }
}
