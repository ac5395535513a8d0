import { describe, expect, it } from 'vitest'
import { eventually, isReady, keyNamed, readTopic } from '@nextvisit/testing/black-box'
import { product } from './product.ts'

const ADMIN_KEY = keyNamed('LOST_ADMIN_P')
const SDK_KEY = keyNamed('LOST_SDK_P')

type Body = Readonly<Record<string, unknown>>

/** Resolves to the answer's body; an empty object without an answer. */
async function call(path: string, key: string, body?: object): Promise<Body> {
  const response = await fetch(`${product().gatewayUrl}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    ...(body && { body: JSON.stringify(body) }),
  }).catch(() => undefined)
  return ((await response?.json().catch(() => undefined)) ?? {}) as Body
}
const identify = (body: object) => call('/v2/admin/identify-user', ADMIN_KEY, body)
const track = (body: object) => call('/v2/admin/track-event', ADMIN_KEY, body)
const visit = () => call('/v2/sdk/identify-user', SDK_KEY, { userName: 'ada' })

async function queueOf(userName: string): Promise<readonly Body[]> {
  const { queue } = await call(`/v2/admin/users/${userName}/forms`, ADMIN_KEY)
  return (queue ?? []) as readonly Body[]
}

async function visitsInLog(): Promise<number> {
  const records = await readTopic(product().brokers, 'user-events')
  return records.filter(
    ({ value }) =>
      value['type'] === 'IdentifyRequested' && value['source'] === 'sdk' && value['organization'] === 'lost',
  ).length
}

const isDelivered = (queue: readonly Body[]) => queue[0]?.['state'] === 'delivered'
const hasForm = (answer: Body) => 'nextFeedbackId' in answer

/** Tests forms.md, The queue: an offer is confirmed by the answer. Here its gateway dies in between. */
export function describeLostAnswer(): void {
  describe('a gateway that dies between the offer and its answer', () => {
    it('answers nothing', { timeout: 60_000 }, async () => {
      await identify({ userName: 'ada', userAttributes: { $set: { plan: 'pro' } } })
      expect(await track({ userName: 'ada', eventName: 'Checkout Completed' })).toMatchObject({ formsQueued: 1 })

      // The visit is in the log, and is evaluated only after its gateway is killed, so the offer is lost.
      product().kill('form-trigger-evaluator', 'SIGSTOP')
      const lost = visit()
      expect(await eventually(visitsInLog, (count) => count === 1, 20_000)).toBe(1)
      product().kill('gateway', 'SIGKILL')
      expect(await lost).not.toHaveProperty('nextFeedbackId')
      product().kill('form-trigger-evaluator', 'SIGCONT')
      expect(await eventually(() => isReady(product().gatewayUrl), Boolean, 30_000), 'the gateway is restarted').toBe(
        true,
      )
    })
  })
}

/** Tests that the user still gets the form. It waits until the lost offer has expired; other tables run meanwhile. */
export function describeVisitAfterLostAnswer(): void {
  describe('an offer whose answer was lost', () => {
    it('loses no form: a later visit shows it, once', { timeout: 120_000 }, async () => {
      expect(await eventually(visit, hasForm, 90_000)).toMatchObject({ nextFeedbackId: 'nps-after-checkout' })
      expect(await eventually(() => queueOf('ada'), isDelivered, 20_000)).toMatchObject([
        { formId: 'nps-after-checkout', state: 'delivered' },
      ])
      expect(await visit()).not.toHaveProperty('nextFeedbackId')
    })
  })
}
