import type { ProjectConfig, UserFact } from '@nextvisit/contracts'
import { compileForms } from './form-index.ts'
import { leavesOf } from './condition-tree.ts'
import { countedByTrigger, countKeyOf, countsRaisedBy } from './count-key.ts'

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
  const leaves = [...gates.flatMap(({ asks = [] }) => asks), ...segments.flatMap(({ where }) => leavesOf(where))]
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

/** The counts of a user that a record raises, or asks for when it is evaluated. `project`: left out where nothing is. */
export function countsAskedBy(fact: UserFact, project: ProjectConfig | undefined): readonly string[] {
  if (fact.type === 'VisitAnswered') return []
  const raised = countsRaisedBy(fact)
  const isEvaluated = fact.type === 'EventTracked' ? fact.evaluateTriggers : fact.source === 'sdk'
  if (!project || !isEvaluated) return raised
  const { gateCounts, triggerCounts } = compileForms(project)
  const byTriggers = fact.type === 'EventTracked' ? triggerCounts(fact.slug) : []
  return [...new Set([...raised, ...gateCounts, ...byTriggers])]
}
