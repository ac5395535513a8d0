import type { Operation } from './operation.ts'
import { PAGE_REFUSALS, pageOf, pageParameters } from './pages.ts'

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
    pageOf('TraitsPage', 'A page of definitions.', {
      when: 'The last page',
      value: { traits: [definition('plan', 'plan')], next: null },
    }),
  ],
}

export const listEvents: Operation = {
  ...listing('events'),
  answers: [
    pageOf('EventsPage', 'A page of definitions.', {
      when: 'There is more',
      value: { events: [definition('checkout_completed', 'Checkout Completed')], next: 'checkout_completed' },
    }),
  ],
}

function listing(what: 'traits' | 'events'): Omit<Operation, 'answers'> {
  return {
    tag: 'Project',
    summary: `List ${what}`,
    description: `The project's ${what} by slug, a page at a time: give \`next\` of one page as \`after\` for the following one.`,
    parameters: pageParameters('checkout_completed'),
    refusals: PAGE_REFUSALS,
  }
}

function definition(slug: string, name: string): object {
  return { slug, name, firstSeenAt: '2026-10-01T08:30:00.000Z', lastSeenAt: '2026-11-02T10:00:00.000Z', count: 42 }
}
