import type { LimitName } from './api.ts'

/** Titles of the limits. Pages import them: keep this file free of imports of code. */
export const LIMIT_TITLES: { readonly [Name in LimitName]: string } = {
  eventsPerMonth: 'Events a month',
  monthlyActiveUsers: 'Monthly active users',
  uniqueEvents: 'Event names',
  uniqueTraits: 'Trait names',
}
