import type { ParameterObject } from './open-api.ts'
import type { DocumentedRefusal, Operation } from './operation.ts'
import { refusal } from './refusals.ts'

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

const USER_REFUSALS: readonly DocumentedRefusal[] = [
  refusal(400, 'userName', 'A userName that is missing or empty', 'userName must be a string that is not empty'),
  refusal(400, 'longUserName', 'More than 255 characters', 'userName must be at most 255 characters long'),
  refusal(400, 'notStorable', 'A userName with U+0000', 'userName must hold no U+0000 and no lone surrogates'),
  refusal(404, 'user', 'A user that was never identified', 'User not found'),
]

const USER_NAME = {
  name: 'userName',
  required: true,
  description: 'As it was given to identify-user.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '\\S' },
  example: 'ada@example.com',
} as const satisfies Omit<ParameterObject, 'in'>

export const getUser: Operation = {
  tag: 'Users',
  summary: 'Read a user',
  description: `What is known of a user: traits, device, events, segments and the forms that wait. It follows what was recorded within moments.`,
  parameters: [{ ...USER_NAME, in: 'path' }],
  answers: [
    {
      status: 200,
      description: "The user's read model.",
      schema: 'UserAnswer',
      examples: {
        user: {
          when: 'A user for whom a form waits',
          value: {
            userId: 'c364d31e-5b0f-5a9e-8f5d-0c2f6a1b7e44',
            userName: 'ada@example.com',
            traits: { plan: 'pro', logins: 3 },
            country: 'DE',
            device: { $deviceType: 'web' },
            firstSeenAt: '2026-10-01T08:30:00.000Z',
            lastSeenAt: INSTANT,
            events: { checkout_completed: { count: 1, firstAt: INSTANT, lastAt: INSTANT } },
            segments: ['paying'],
            waitingForms: [
              {
                ...WAITING_FORM,
                priority: 10,
              },
            ],
          },
        },
      },
    },
  ],
  refusals: [
    refusal(400, 'path', 'A path that can not be decoded', 'The path must be valid percent-encoding'),
    ...USER_REFUSALS,
  ],
}

export const findUser: Operation = {
  ...getUser,
  summary: 'Read a user whose name does not fit into a path',
  parameters: [{ ...USER_NAME, in: 'query' }],
  refusals: USER_REFUSALS,
}

export const getUserForms: Operation = {
  ...getUser,
  summary: 'Read why a form did, or did not, reach a user',
  description: `For each form that a record of this user was evaluated against, the last decision: the gates in their order up to the first that failed, and what each compared. And the user's queue, with what became of each form. It has seen everything that was answered before; where that takes too long, it is a 503.`,
  answers: [
    {
      status: 200,
      description: 'Decisions, and the queue.',
      schema: 'UserFormsAnswer',
      examples: {
        forms: {
          when: 'A form waits, and another did not reach the user: it is for other plans',
          value: {
            userId: 'c364d31e-5b0f-5a9e-8f5d-0c2f6a1b7e44',
            userName: 'ada@example.com',
            forms: [
              {
                formId: 'churn-survey',
                decision: 'not-queued',
                reason: 'not-in-audience',
                at: INSTANT,
                requestId: '019a4414-8e80-7a7c-9c54-1f3b6d2a7e10',
                trigger: { event: 'checkout_completed' },
                catalogRevision: 3,
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
                formId: 'nps-after-checkout',
                decision: 'queued',
                at: INSTANT,
                requestId: '019a4414-8e80-7a7c-9c54-1f3b6d2a7e10',
                trigger: { event: 'checkout_completed' },
                catalogRevision: 3,
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
            queue: [
              {
                ...WAITING_FORM,
                offeredAt: null,
                deliveredAt: null,
                requestId: '019a4414-8e80-7a7c-9c54-1f3b6d2a7e10',
              },
            ],
          },
        },
      },
    },
  ],
}
