import type { ProjectConfig } from '@nextvisit/contracts'
import { eventSlug } from '../event-slug.ts'
import { compileForms } from './form-index.ts'
import { leavesOf } from './segments.ts'

/** The facts about a user that a project's forms look at: in triggers, gates and segments. */
export interface AskedFacts {
  /** By slug. */
  readonly events: ReadonlySet<string>
  readonly traits: ReadonlySet<string>
  readonly deviceFields: ReadonlySet<string>
}

/** Decisions on these facts alone are the same as decisions on all facts of a user. */
export function factsAskedBy(projects: readonly ProjectConfig[]): AskedFacts {
  const gates = projects.flatMap((project) =>
    [...compileForms(project).byId.values()].flatMap((form) => form.gates.toQueue),
  )
  const segments = projects.flatMap((project) => project.segments)
  const leaves = [...gates.flatMap(({ asks }) => asks), ...segments.flatMap(({ where }) => leavesOf(where))]
  const triggers = projects.flatMap((project) => project.forms).flatMap((form) => form.triggers)
  return {
    events: new Set([...triggers, ...leaves].flatMap((one) => ('event' in one ? eventSlug(one.event) : []))),
    traits: new Set(leaves.flatMap((leaf) => ('trait' in leaf ? leaf.trait : []))),
    deviceFields: new Set(
      leaves.flatMap((leaf) => ('device' in leaf ? leaf.device : 'country' in leaf ? '$countryCode' : [])),
    ),
  }
}
