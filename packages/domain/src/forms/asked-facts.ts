import type { ProjectConfig } from '@nextvisit/contracts'
import { compileForms } from './form-index.ts'
import { leavesOf } from './condition-tree.ts'
import { countedByTrigger, countKeyOf } from './count-key.ts'

/** The facts about a user that a project's forms look at: in triggers, gates and segments. */
export interface AskedFacts {
  /** Counts of events: see `countKeyOf`. */
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
    events: new Set([
      ...triggers.flatMap((trigger) => ('event' in trigger ? countKeyOf(countedByTrigger(trigger)) : [])),
      ...leaves.flatMap((leaf) => ('event' in leaf ? countKeyOf(leaf) : [])),
    ]),
    traits: new Set(leaves.flatMap((leaf) => ('trait' in leaf ? leaf.trait : []))),
    deviceFields: new Set(
      leaves.flatMap((leaf) => ('device' in leaf ? leaf.device : 'country' in leaf ? '$countryCode' : [])),
    ),
  }
}
