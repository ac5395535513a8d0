import { IdentifyUserBody, UserAnswer, UserFormsAnswer } from '@nextvisit/contracts'
import { BODY_RULES } from '@nextvisit/domain'
import { z } from 'zod'
import { REFUSALS } from '../http/refusals.ts'
import { type DocumentedRefusals, json, type Operation, refusalsOf } from './operation.ts'

const REQUEST_ID = '019a4414-8e80-7a7c-9c54-1f3b6d2a7e10'
const USER = { userId: 'c364d31e-5b0f-5a9e-8f5d-0c2f6a1b7e44', userName: 'ada@example.com' }
const INSTANT = '2026-11-02T10:00:00.000Z'

/** As a user's own page and the page of their forms begin it. */
const WAITING_FORM = {
  queuedId: '5d2b8f0a-6c1e-5f43-9b7a-1e0d4c2f8a96',
  formId: 'nps-after-checkout',
  state: 'waiting',
  queuedAt: INSTANT,
  showFrom: INSTANT,
  expiresAt: null,
}

const LIVE_PASSED = {
  gate: 'live',
  passed: true,
  compared: { enabled: true, startsAt: null, endsAt: null, now: INSTANT },
}

const { userName, longUserName } = BODY_RULES
const { path, notStorable, user } = REFUSALS
const USER_REFUSALS: DocumentedRefusals = { ...refusalsOf({ userName, longUserName }), notStorable, user }

const USER_NAME = z.object({
  userName: IdentifyUserBody.shape.userName.meta({
    param: { description: 'As it was given to identify-user.', example: 'ada@example.com' },
  }),
})

export const getUser: Operation = {
  tag: 'Users',
  summary: 'Read a user',
  description: `What is known of a user: traits, device, events, segments and the forms that wait. It follows what was recorded within moments.`,
  requestParams: { path: USER_NAME },
  answer: {
    status: 200,
    description: "The user's read model.",
    content: json(UserAnswer, {
      user: {
        summary: 'A user for whom a form waits',
        value: {
          ...USER,
          traits: { plan: 'pro', logins: 3 },
          country: 'DE',
          device: { $deviceType: 'web' },
          firstSeenAt: '2026-10-01T08:30:00.000Z',
          lastSeenAt: INSTANT,
          events: { checkout_completed: { count: 1, firstAt: INSTANT, lastAt: INSTANT } },
          segments: ['paying'],
          waitingForms: [{ ...WAITING_FORM, priority: 10 }],
        },
      },
    }),
  },
  refusals: { path, ...USER_REFUSALS },
}

export const findUser: Operation = {
  ...getUser,
  summary: 'Read a user whose name does not fit into a path',
  requestParams: { query: USER_NAME },
  refusals: USER_REFUSALS,
}

export const getUserForms: Operation = {
  ...getUser,
  summary: 'Read why a form did, or did not, reach a user',
  description: `For each form that a record of this user was evaluated against, the last decision: the gates in their order up to the first that failed, and what each compared. And the user's queue, with what became of each form. It has seen everything that was answered before; where that takes too long, it is a 503.`,
  answer: {
    status: 200,
    description: 'Decisions, and the queue.',
    content: json(UserFormsAnswer, {
      forms: {
        summary: 'A form waits, and another did not reach the user: it is for other plans',
        value: {
          ...USER,
          forms: [
            {
              ...decision('churn-survey', 'not-queued'),
              reason: 'not-in-audience',
              gates: [
                LIVE_PASSED,
                {
                  gate: 'audience',
                  passed: false,
                  compared: { leaf: { trait: 'plan', is: 'free' }, negated: false, actual: 'pro' },
                },
              ],
            },
            {
              ...decision('nps-after-checkout', 'queued'),
              gates: [
                LIVE_PASSED,
                { gate: 'audience', passed: true, compared: { leaf: null, negated: false } },
                { gate: 'sample', passed: true, compared: { bucket: 1234, threshold: 2500 } },
                { gate: 'repeat', passed: true, compared: { rule: 'once', timesQueued: 0, lastShownAt: null } },
                { gate: 'cooldown', passed: true, compared: { cooldownSeconds: 86_400, lastShown: null } },
                { gate: 'slot', passed: true, compared: { waiting: null } },
              ],
            },
          ],
          queue: [{ ...WAITING_FORM, offeredAt: null, deliveredAt: null, requestId: REQUEST_ID }],
        },
      },
    }),
  },
}

function decision(formId: string, verdict: 'queued' | 'not-queued'): object {
  return {
    formId,
    decision: verdict,
    at: INSTANT,
    requestId: REQUEST_ID,
    trigger: { event: 'checkout_completed' },
    catalogRevision: 3,
  }
}
