import { isActivityFact, type ProjectConfig, type UserFact } from '@nextvisit/contracts'
import { compileForms } from './form-index.ts'
import { leavesOf } from '../conditions/condition-tree.ts'
import { countedByTrigger, countKeyOf, countsRaisedBy } from '../counts/count-key.ts'

/** The facts about a user that triggers, gates and segments of projects need. */
export interface NeededFacts {
  /** Keys of counts (`countKeyOf`). */
  readonly events: ReadonlySet<string>
  readonly traits: ReadonlySet<string>
  readonly deviceFields: ReadonlySet<string>
}

/** Returns the facts that the forms of projects need. Other facts of a user change no decision. */
export function factsNeededBy(projects: readonly ProjectConfig[]): NeededFacts {
  const gates = projects.flatMap((project) =>
    [...compileForms(project).byId.values()].flatMap((form) => form.gates.toQueue),
  )
  const segments = projects.flatMap((project) => project.segments)
  const leaves = [...gates.flatMap(({ needs = [] }) => needs), ...segments.flatMap(({ where }) => leavesOf(where))]
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

/**
 * Returns the keys of the counts that a record raises, or that its evaluation reads. `project` undefined: nothing is
 * evaluated.
 */
export function countsNeededBy(fact: UserFact, project: ProjectConfig | undefined): readonly string[] {
  if (!isActivityFact(fact)) return []
  const raised = countsRaisedBy(fact)
  const isEvaluated = fact.type === 'EventTracked' ? fact.evaluateTriggers : fact.source === 'sdk'
  if (!project || !isEvaluated) return raised
  const { gateCounts, triggerCounts } = compileForms(project)
  const byTriggers = fact.type === 'EventTracked' ? triggerCounts(fact.slug) : []
  return [...new Set([...raised, ...gateCounts, ...byTriggers])]
}
