import {
  EventsPage,
  SegmentsPage,
  SegmentUsersPage,
  SlugId,
  TraitsPage,
  UsageOverview,
  Uuid,
} from '@nextvisit/contracts'
import { z } from 'zod'
import { REFUSALS } from '../http/refusals.ts'
import { DEFAULT_LIMIT, MAX_LIMIT } from '../routes/page-query.ts'
import { json, type Operation } from './operation.ts'

const USER_ID = 'c364d31e-5b0f-5a9e-8f5d-0c2f6a1b7e44'

const { after, path, segment } = REFUSALS
const PAGE_REFUSALS = { limit: REFUSALS.limit(MAX_LIMIT), after }

export const getUsage: Operation = {
  tag: 'Project',
  summary: "Read this month's usage",
  description:
    "This month's counters (UTC) beside the limits of the plan. Events are counted for the organization, in environment P; everything else for the project.",
  answer: {
    status: 200,
    description: 'Counters and limits.',
    content: json(UsageOverview, {
      usage: {
        summary: 'A plan without a limit on unique traits',
        value: {
          month: '2026-11',
          events: { count: 1234, limit: 100_000 },
          monthlyActiveUsers: { count: 56, limit: 10_000 },
          uniqueEvents: { count: 7, limit: 500 },
          uniqueTraits: { count: 8, limit: null },
        },
      },
    }),
  },
  refusals: {},
}

export const listTraits: Operation = {
  ...listing('traits'),
  answer: page('A page of definitions.', TraitsPage, 'The last page', {
    traits: [definition('plan', 'plan')],
    next: null,
  }),
}

export const listEvents: Operation = {
  ...listing('events'),
  answer: page('A page of definitions.', EventsPage, 'There is more', {
    events: [definition('checkout_completed', 'Checkout Completed')],
    next: 'checkout_completed',
  }),
}

export const listSegments: Operation = {
  tag: 'Project',
  summary: 'List segments',
  description:
    "The project's segments by id, a page at a time, and how many users are in each. A segment that is new or changed is computed for all users: until `usersComputed` is `usersTotal`, `members` may still count some by what it was before.",
  requestParams: { query: pageQuery(z.string(), 'paying') },
  answer: page('A page of segments.', SegmentsPage, 'One that is settled, and one that was just applied', {
    segments: [
      { id: 'churned', name: null, members: 12, usersComputed: 400, usersTotal: 1_000 },
      { id: 'paying', name: 'Paying customers', members: 250, usersComputed: 1_000, usersTotal: 1_000 },
    ],
    next: null,
  }),
  refusals: PAGE_REFUSALS,
}

export const listSegmentUsers: Operation = {
  tag: 'Project',
  summary: "List a segment's users",
  description:
    'Who is in the segment and since when, by user id, a page at a time. It follows what was recorded within moments, and what time alone changes within a minute.',
  requestParams: {
    path: z.object({
      segmentId: SlugId.meta({ param: { description: 'As the workspace file has it.', example: 'paying' } }),
    }),
    query: pageQuery(Uuid, USER_ID),
  },
  answer: page('A page of users.', SegmentUsersPage, 'There is more', {
    users: [{ userId: USER_ID, userName: 'ada@example.com', since: '2026-11-02T10:00:00.000Z' }],
    next: USER_ID,
  }),
  refusals: { ...PAGE_REFUSALS, path, segment },
}

/** What every listing takes. `example`: an `after` of this one. */
function pageQuery(cursor: z.ZodType<string>, example: string): z.ZodObject {
  return z.object({
    limit: z
      .int()
      .min(1)
      .max(MAX_LIMIT)
      .default(DEFAULT_LIMIT)
      .meta({ param: { description: 'How many, at most.', example: DEFAULT_LIMIT } }),
    after: cursor.optional().meta({ param: { description: '`next` of the page before.', example } }),
  })
}

function page(description: string, schema: z.ZodType, summary: string, value: object): Operation['answer'] {
  return { status: 200, description, content: json(schema, { page: { summary, value } }) }
}

function listing(what: 'traits' | 'events'): Omit<Operation, 'answer'> {
  return {
    tag: 'Project',
    summary: `List ${what}`,
    description: `The project's ${what} by slug, a page at a time: give \`next\` of one page as \`after\` for the following one.`,
    requestParams: { query: pageQuery(z.string(), 'checkout_completed') },
    refusals: PAGE_REFUSALS,
  }
}

function definition(slug: string, name: string): object {
  return { slug, name, firstSeenAt: '2026-10-01T08:30:00.000Z', lastSeenAt: '2026-11-02T10:00:00.000Z', count: 42 }
}
