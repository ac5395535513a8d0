import type { EventTracked, ProjectConfig } from '@nextvisit/contracts'
import { eventSlug } from '../event-slug.ts'
import { leavesOf } from './condition-tree.ts'
import { type Counted, countedByTrigger } from '../counts/count-key.ts'
import { whereHashOf } from '../counts/where-hash.ts'
import { compilePropertyCondition, type EventProperties } from './property-conditions.ts'

/** A count of events whose properties meet a `where` (forms.md, Property counts). */
interface PropertyCount {
  readonly hash: string
  /** Returns whether an event with these properties, received at `now` (ms), counts. */
  readonly holds: (properties: EventProperties, now: number) => boolean
}

/**
 * Returns the project's property counts whose `where` holds for an event, as its record names them. They are decided once,
 * when the record is written (decision 0015).
 */
export function countsForOf(
  project: ProjectConfig,
  { slug, properties, received }: Pick<EventTracked, 'slug' | 'properties' | 'received'>,
): Pick<EventTracked, 'countsFor'> {
  const counts = propertyCountsOf(project).get(slug)
  if (!counts) return {}
  const now = Date.parse(received)
  const countsFor = counts.filter(({ holds }) => holds(properties, now)).map(({ hash }) => hash)
  return countsFor.length > 0 ? { countsFor } : {}
}

type CountsBySlug = ReadonlyMap<string, readonly PropertyCount[]>
const compiled = new WeakMap<ProjectConfig, CountsBySlug>()

/** Returns the project's property counts by slug, compiled once per configuration object. */
function propertyCountsOf(project: ProjectConfig): CountsBySlug {
  const known = compiled.get(project)
  if (known) return known
  const bySlug = Map.groupBy(countedBy(project), ({ event }) => eventSlug(event))
  const counts = new Map(Array.from(bySlug, ([slug, counted]) => [slug, compileCounts(counted)]))
  for (const [slug, { length }] of counts) if (length === 0) counts.delete(slug)
  compiled.set(project, counts)
  return counts
}

/** Returns everything that a project's forms, disabled ones included, and segments count. */
function countedBy({ forms, segments }: ProjectConfig): readonly Counted[] {
  const triggers = forms.flatMap((form) => form.triggers).filter((trigger) => 'event' in trigger)
  const conditions = [...forms.flatMap(({ audience }) => audience ?? []), ...segments.map(({ where }) => where)]
  const leaves = conditions.flatMap((condition) => leavesOf(condition))
  return [...triggers.map(countedByTrigger), ...leaves.filter((leaf) => 'event' in leaf)]
}

function compileCounts(counted: readonly Counted[]): readonly PropertyCount[] {
  const byHash = new Map(counted.flatMap(({ where }) => (where === undefined ? [] : [[whereHashOf(where), where]])))
  return Array.from(byHash, ([hash, where]) => {
    const evaluate = compilePropertyCondition(where)
    return { hash, holds: (properties, now) => evaluate(properties, now).holds }
  })
}
