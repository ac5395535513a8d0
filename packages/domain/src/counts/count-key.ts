import type { EventTracked, PropertyCondition, ActivityFact, Trigger } from '@nextvisit/contracts'
import { eventSlug } from '../event-slug.ts'
import { whereHashOf } from './where-hash.ts'

/** An event that is counted: every occurrence, or only those that meet `where` (forms.md, Property conditions). */
export interface Counted {
  readonly event: string
  readonly where?: PropertyCondition | undefined
}

/** Returns the key of a user's count: the event's slug, then `#` and the hash of its `where`. No slug contains `#`. */
export function countKeyOf({ event, where }: Counted): string {
  const slug = eventSlug(event)
  return where === undefined ? slug : propertyCountKey(slug, whereHashOf(where))
}

/** Returns the keys of the counts that a tracked event raises: the key of its slug, and the keys that its record names. */
export function countKeysOf({ slug, countsFor = [] }: Pick<EventTracked, 'slug' | 'countsFor'>): readonly string[] {
  return [slug, ...countsFor.map((hash) => propertyCountKey(slug, hash))]
}

/** Returns the keys of the counts that a record raises. */
export function countsRaisedBy(fact: ActivityFact): readonly string[] {
  return fact.type === 'EventTracked' ? countKeysOf(fact) : []
}

function propertyCountKey(slug: string, hash: string): string {
  return `${slug}#${hash}`
}

/** Returns the event that a trigger counts. Without `count`, `within` and `since`, `where` is checked on the event itself. */
export function countedByTrigger({ event, where, count, within, since }: Extract<Trigger, Counted>): Counted {
  return { event, where: (count ?? within ?? since) === undefined ? undefined : where }
}
