import type { OnActivity } from './activity-model.ts'
import type { Catalog, ProjectOfRevision } from './catalog.ts'
import { type FormFact, type Queued, type UserFact, userKey } from './facts.ts'
import type { Findings } from './findings.ts'
import { type QueueThen, refusalOf } from './gates.ts'
import type { FoldedFact } from './model.ts'
import { createQueueHistory, NEAR_MS, type QueuesThen } from './queue-history.ts'
import { createRevisionWait, type Verdict } from './revision-wait.ts'
import { type ActivityThen, isEvaluated, isTriggered } from './triggers.ts'

/** Pairs of a record and a form that it set off, or was queued by it. */
export interface QueueingCounts {
  readonly decided: number
  /** The log does not tell enough: nothing is said of these. */
  readonly undecided: number
}

/** Who should have been queued, from the records alone (docs/spec/forms.md), against who was. */
export interface QueueingModel {
  /** Every fact of `form-events` of this pass's users, before their records. */
  readonly foldForm: (fact: FormFact) => void
  /** Each record that the evaluator has folded, in the order in which it has. */
  readonly judge: OnActivity
  /** Forgets this pass's users. */
  readonly compareUsers: () => Promise<void>
  readonly counts: () => QueueingCounts
}

/** A record at which the evaluator stood, and its user then. */
interface Occasion {
  readonly fact: UserFact
  readonly how: FoldedFact
  readonly activity: ActivityThen
  readonly queues: QueuesThen
}

const NOT_TRIGGERED = 'no trigger of it matches'

export function createQueueingModel(findings: Findings, catalog: Catalog): QueueingModel {
  const history = createQueueHistory()
  const wait = createRevisionWait()
  const counts = { decided: 0, undecided: 0 }

  const checkQueued = (occasion: Occasion, { formId, organization, project, catalogRevision }: Queued): void => {
    counts.decided += 1
    const { fact, how, queues } = occasion
    const rules = catalog.project(organization, project, catalogRevision)
    const because = isEvaluated(fact) ? whyNot(occasion, formId, rules, queues.certain) : 'is not evaluated'
    if (because === undefined) return
    findings.add('form-events: refused', `${userKey(fact)}/${formId}`, `${placeOf(how)} queued it: ${because}`)
  }

  const checkNotQueued = (occasion: Occasion, formId: string, when: PossibleRevisions): void => {
    const { fact, how } = occasion
    wait.ask({
      partition: how.partition,
      organization: fact.organization,
      from: when.from,
      until: when.until,
      verdicts: when.runs.map((run) => ({ ...run, verdict: verdictOf(occasion, formId, run.rules) })),
      onSettled: (verdict) => {
        counts[verdict === 'unsure' ? 'undecided' : 'decided'] += 1
        if (verdict !== 'queue') return
        findings.add(
          'form-events: not queued',
          `${userKey(fact)}/${formId}`,
          `${placeOf(how)} sets it off, no gate refuses, and it was not queued`,
        )
      },
    })
  }

  const judgeInOrder = (occasion: Occasion, queued: readonly Queued[]): void => {
    for (const one of queued) checkQueued(occasion, one)
    if (!isEvaluated(occasion.fact)) return
    const when = possibleRevisions(catalog, occasion.fact)
    const formIds = new Set(when.runs.flatMap(({ rules }) => [...(rules?.forms.keys() ?? [])]))
    for (const { formId } of queued) formIds.delete(formId)
    for (const formId of formIds) checkNotQueued(occasion, formId, when)
  }

  return {
    foldForm: history.foldForm,

    judge: (fact, how, activity) => {
      // Folded long after its time, a record queues nothing and shows nothing.
      if (how.isLate) return
      const queued = history.queuedBy(fact)
      if (activity) judgeInOrder({ fact, how, activity, queues: history.at(fact) }, queued)
      else if (isEvaluated(fact)) counts.undecided += 1
      for (const { catalogRevision } of queued) wait.learn(how.partition, fact.organization, catalogRevision)
      history.pass(fact)
    },

    compareUsers: async () => {
      wait.end()
      history.clear()
    },

    counts: () => ({ ...counts }),
  }
}

/** Why a form is not queued; undefined: it is. */
function whyNot(
  { fact, activity }: Occasion,
  formId: string,
  project: ProjectOfRevision | undefined,
  queue: QueueThen,
): string | undefined {
  const form = project?.forms.get(formId)
  if (!project || !form || !isTriggered(form, fact, activity)) return NOT_TRIGGERED
  return refusalOf({ form, project, userId: fact.userId, now: Date.parse(fact.received), activity }, queue)
}

function verdictOf(occasion: Occasion, formId: string, project: ProjectOfRevision | undefined): Verdict {
  const { least, most } = occasion.queues
  const whyNotAtLeast = whyNot(occasion, formId, project, least)
  if (whyNotAtLeast === NOT_TRIGGERED) return 'not asked'
  const whyNotAtMost = whyNot(occasion, formId, project, most)
  if (whyNotAtLeast !== undefined && whyNotAtMost !== undefined) return 'refuse'
  return whyNotAtLeast === whyNotAtMost ? 'queue' : 'unsure'
}

/** Nobody can tell when a record was evaluated: it was by what was current when it was received, or by any later revision. */
interface PossibleRevisions {
  /** Current shortly before and after it was received. */
  readonly from: number
  readonly until: number
  /** From `from` to the latest, where they say the same of the project; without rules they have no such project. */
  readonly runs: readonly Run[]
}

interface Run {
  readonly first: number
  readonly last: number
  readonly rules: ProjectOfRevision | undefined
}

function possibleRevisions(catalog: Catalog, { organization, project, received }: UserFact): PossibleRevisions {
  const now = Date.parse(received)
  const from = catalog.revisionAt(organization, now - NEAR_MS)
  const runs: Run[] = []
  for (let revision = from; revision <= catalog.latest(organization); revision++) {
    const rules = catalog.project(organization, project, revision)
    const before = runs.at(-1)
    if (before && before.rules === rules) runs[runs.length - 1] = { ...before, last: revision }
    else runs.push({ first: revision, last: revision, rules })
  }
  return { from, until: catalog.revisionAt(organization, now + NEAR_MS), runs }
}

function placeOf({ partition, offset }: FoldedFact): string {
  return `record ${partition}/${offset}`
}
