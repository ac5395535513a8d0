import { createHash } from 'node:crypto'
import type { EventTracked, PropertyCondition, Trigger, UserFact } from '@nextvisit/contracts'
import { eventSlug } from '../event-slug.ts'

/** An event that is counted: each of them, or only those with such properties (forms.md, Property conditions). */
export interface Counted {
  readonly event: string
  readonly where?: PropertyCondition | undefined
}

/** What names a count of a user: an event's slug, and behind `#` the hash of its `where`. No slug has a `#`. */
export function countKeyOf({ event, where }: Counted): string {
  const slug = eventSlug(event)
  return where === undefined ? slug : propertyCountKey(slug, whereHashOf(where))
}

/** The counts of a user that a tracked event raises: of its slug, and those that its record names. */
export function countKeysOf({ slug, countsFor = [] }: Pick<EventTracked, 'slug' | 'countsFor'>): readonly string[] {
  return [slug, ...countsFor.map((hash) => propertyCountKey(slug, hash))]
}

/** The counts of a user that a record raises. */
export function countsRaisedBy(fact: UserFact): readonly string[] {
  return fact.type === 'EventTracked' ? countKeysOf(fact) : []
}

function propertyCountKey(slug: string, hash: string): string {
  return `${slug}#${hash}`
}

/** Without `count`, `within` and `since` nothing is counted by properties: `where` looks at the event itself. */
export function countedByTrigger({ event, where, count, within, since }: Extract<Trigger, Counted>): Counted {
  return { event, where: (count ?? within ?? since) === undefined ? undefined : where }
}

/** Part of every hash. Raise it when the same `where` gets another meaning: then counting begins again, under another key. */
const MEANING = 1

/** Equal for equal conditions, in whatever order the workspace file or a database has their members. */
export function whereHashOf(where: PropertyCondition): string {
  return createHash('sha256')
    .update(canonicalJson([MEANING, where]))
    .digest('hex')
    .slice(0, 16)
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : member,
  )
}
