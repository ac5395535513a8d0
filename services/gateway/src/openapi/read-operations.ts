import type { ParameterObject } from './open-api.ts'
import type { DocumentedRefusal, Operation } from './operation.ts'
import { refusal } from './refusals.ts'

const INSTANT = '2026-11-02T10:00:00.000Z'

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
                queuedId: '5d2b8f0a-6c1e-5f43-9b7a-1e0d4c2f8a96',
                formId: 'nps-after-checkout',
                state: 'waiting',
                queuedAt: INSTANT,
                showFrom: INSTANT,
                expiresAt: null,
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

export const getUsage: Operation = {
  tag: 'Project',
  summary: "Read this month's usage",
  description:
    "This month's counters (UTC) beside the limits of the plan. Events are counted for the organization, in environment P; everything else for the project.",
  answers: [
    {
      status: 200,
      description: 'Counters and limits.',
      schema: 'UsageOverview',
      examples: {
        usage: {
          when: 'A plan without a limit on unique traits',
          value: {
            month: '2026-11',
            events: { count: 1234, limit: 100_000 },
            monthlyActiveUsers: { count: 56, limit: 10_000 },
            uniqueEvents: { count: 7, limit: 500 },
            uniqueTraits: { count: 8, limit: null },
          },
        },
      },
    },
  ],
  refusals: [],
}

export const listTraits: Operation = {
  ...listing('traits'),
  answers: [
    {
      status: 200,
      description: 'A page of definitions.',
      schema: 'TraitsPage',
      examples: {
        page: { when: 'The last page', value: { traits: [definition('plan', 'plan')], next: null } },
      },
    },
  ],
}

export const listEvents: Operation = {
  ...listing('events'),
  answers: [
    {
      status: 200,
      description: 'A page of definitions.',
      schema: 'EventsPage',
      examples: {
        page: {
          when: 'There is more',
          value: { events: [definition('checkout_completed', 'Checkout Completed')], next: 'checkout_completed' },
        },
      },
    },
  ],
}

function listing(what: 'traits' | 'events'): Omit<Operation, 'answers'> {
  return {
    tag: 'Project',
    summary: `List ${what}`,
    description: `The project's ${what} by slug, a page at a time: give \`next\` of one page as \`after\` for the following one.`,
    parameters: [
      {
        name: 'limit',
        in: 'query',
        required: false,
        description: 'How many, at most.',
        schema: { type: 'integer', minimum: 1, maximum: 1_000, default: 100 },
        example: 100,
      },
      {
        name: 'after',
        in: 'query',
        required: false,
        description: '`next` of the page before.',
        schema: { type: 'string' },
        example: 'checkout_completed',
      },
    ],
    refusals: [
      refusal(400, 'limit', 'A limit out of its range', 'limit must be a whole number from 1 to 1000'),
      refusal(400, 'after', 'An `after` that nobody gave', 'after must be what next was in the answer before'),
    ],
  }
}

function definition(slug: string, name: string): object {
  return { slug, name, firstSeenAt: '2026-10-01T08:30:00.000Z', lastSeenAt: INSTANT, count: 42 }
}
