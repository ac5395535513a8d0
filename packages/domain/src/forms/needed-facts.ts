import { type AnswerGiven, isActivityFact, type ProjectConfig, type UserFact } from '@nextvisit/contracts'
import { compileForms, type FormIndex } from './form-index.ts'
import { leavesOf } from '../conditions/condition-tree.ts'
import { countedByTrigger, countKeyOf, countsRaisedBy } from '../counts/count-key.ts'

/** The facts about a user that triggers, gates and segments of projects need. */
export interface NeededFacts {
  /** Keys of counts (`countKeyOf`). */
  readonly events: ReadonlySet<string>
  readonly traits: ReadonlySet<string>
  readonly deviceFields: ReadonlySet<string>
  /** Answers to forms. */
  readonly answers: boolean
}

/** Returns the facts that the forms of projects need. Other facts of a user change no decision. */
export function factsNeededBy(projects: readonly ProjectConfig[]): NeededFacts {
  const gates = projects.flatMap((project) =>
    [...compileForms(project).byId.values()].flatMap((form) => form.gates.toQueue),
  )
  const segments = projects.flatMap((project) => project.segments)
  const isOfAnswers = projects.some((project) => compileForms(project).answeredForms.size > 0)
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
    answers: isOfAnswers,
  }
}

/**
 * Returns the keys of the counts that a record raises, or that its evaluation reads. `project` undefined: nothing is
 * evaluated.
 */
export function countsNeededBy(fact: UserFact, project: ProjectConfig | undefined): readonly string[] {
  if (fact.type === 'AnswerGiven') {
    const index = project && compileForms(project)
    return index && isFollowedUp(fact, index) ? [...index.gateCounts] : []
  }
  if (!isActivityFact(fact)) return []
  const raised = countsRaisedBy(fact)
  const isEvaluated = fact.type === 'EventTracked' ? fact.evaluateTriggers : fact.source === 'sdk'
  if (!project || !isEvaluated) return raised
  const { gateCounts, triggerCounts } = compileForms(project)
  const byTriggers = fact.type === 'EventTracked' ? triggerCounts(fact.slug) : []
  return [...new Set([...raised, ...gateCounts, ...byTriggers])]
}

/** Returns whether the answers to a form may set off another one. */
function isFollowedUp({ status, formId }: AnswerGiven, { onAnswersTo }: FormIndex): boolean {
  return status === 'finished' && onAnswersTo(formId).length > 0
}

/**
 * Returns the forms whose answers the evaluation of a record reads. An answer changes them, and needs all of its user. `project`
 * undefined: nothing is evaluated.
 */
export function answersNeededBy(fact: UserFact, project: ProjectConfig | undefined): ReadonlySet<string> | 'all' {
  if (fact.type === 'AnswerGiven') return 'all'
  return project && isActivityFact(fact) ? compileForms(project).answeredForms : NO_FORMS
}

const NO_FORMS: ReadonlySet<string> = new Set()
