import type { LimitName } from './api.ts'

/** What each limit counts. No zod here: pages import it. */
export const LIMIT_TITLES: { readonly [Name in LimitName]: string } = {
  eventsPerMonth: 'Events a month',
  monthlyActiveUsers: 'Monthly active users',
  uniqueEvents: 'Event names',
  uniqueTraits: 'Trait names',
}
