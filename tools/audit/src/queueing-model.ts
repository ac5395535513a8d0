import type { OnActivity } from './activity-model.ts'
import type { Catalog, ProjectOfRevision } from './catalog.ts'
import { createDecisionsModel, type DecisionsModel } from './decisions-model.ts'
import { type FormFact, type Queued, type UserFact, userKey } from './facts.ts'
import type { Findings } from './findings.ts'
import { refusalOf } from './gates.ts'
import type { FoldedFact, UserRange } from './model.ts'
import { createQueueHistory, NEAR_MS, type QueuesThen } from './queue-history.ts'
import { createRevisionWait, type Verdict } from './revision-wait.ts'
import type { Snapshot } from './snapshot.ts'
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
  /** Compares the last decisions, and forgets this pass's users. */
  readonly compareUsers: (snapshot: Snapshot, range: UserRange) => Promise<void>
  readonly counts: () => QueueingCounts
}

/** A record at which the evaluator stood, and its user then. */
interface Occasion {
  readonly fact: UserFact
  readonly how: FoldedFact
  readonly activity: ActivityThen
  readonly queues: QueuesThen
}

/** Why a form that was set off is not queued, by each queue that it may have met; undefined: it is. */
type Refusals = Readonly<Record<keyof QueuesThen, string | undefined>>

export function createQueueingModel(findings: Findings, catalog: Catalog): QueueingModel {
  const history = createQueueHistory()
  const decisions = createDecisionsModel()
  const wait = createRevisionWait()
  const possibleRevisions = revisionsIn(catalog)
  const counts = { decided: 0, undecided: 0 }

  const checkQueued = (occasion: Occasion, { formId, organization, project, catalogRevision }: Queued): void => {
    counts.decided += 1
    const { fact, how } = occasion
    decisions.decide(fact, formId, 'queued')
    const because = whyNot(occasion, formId, catalog.project(organization, project, catalogRevision))
    if (because === undefined) return
    findings.add('form-events: refused', `${userKey(fact)}/${formId}`, `${placeOf(how)} queued it: ${because}`)
  }

  /** Apart from the occasion, which must not be kept for as long as this waits. */
  const onSettled =
    (about: string, place: string) =>
    (verdict: Exclude<Verdict, 'not asked'>): void => {
      counts[verdict === 'unsure' ? 'undecided' : 'decided'] += 1
      if (verdict !== 'queue') return
      findings.add('form-events: not queued', about, `${place} sets it off, no gate refuses, and it was not queued`)
    }

  const checkNotQueued = (occasion: Occasion, formId: string, { from, until, runs }: PossibleRevisions): void => {
    const { fact, how } = occasion
    const refusals = runs.map(({ rules }) => refusalsOf(occasion, formId, rules))
    noteDecision(decisions, fact, formId, refusals)
    wait.ask({
      partition: how.partition,
      organization: fact.organization,
      from,
      until,
      verdicts: runs.map((run, index) => ({ ...run, verdict: verdictOf(refusals[index]) })),
      onSettled: onSettled(`${userKey(fact)}/${formId}`, placeOf(how)),
    })
  }

  const judgeInOrder = (occasion: Occasion, queued: readonly Queued[]): void => {
    for (const one of queued) checkQueued(occasion, one)
    if (!isEvaluated(occasion.fact)) return
    const when = possibleRevisions(occasion.fact)
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
      else {
        decisions.loseSightOfUser(fact)
        if (isEvaluated(fact)) counts.undecided += 1
      }
      for (const { catalogRevision } of queued) wait.learn(how.partition, fact.organization, catalogRevision)
      history.pass(fact)
    },

    compareUsers: async (snapshot, range) => {
      wait.end()
      history.clear()
      await decisions.compareUsers(snapshot, range, findings)
    },

    counts: () => ({ ...counts }),
  }
}

/** Undefined: nothing sets it off. */
function refusalsOf(
  { fact, activity, queues }: Occasion,
  formId: string,
  project: ProjectOfRevision | undefined,
): Refusals | undefined {
  const form = project?.forms.get(formId)
  if (!project || !form || !isTriggered(form, fact, activity)) return undefined
  const candidate = { form, project, userId: fact.userId, now: Date.parse(fact.received), activity }
  const [certain, least, most] = [queues.certain, queues.least, queues.most].map((queue) => refusalOf(candidate, queue))
  return { certain, least, most }
}

/** Why a form that was queued must not be; undefined: it may. */
function whyNot(occasion: Occasion, formId: string, project: ProjectOfRevision | undefined): string | undefined {
  if (!isEvaluated(occasion.fact)) return 'is not evaluated'
  const refusals = refusalsOf(occasion, formId, project)
  return refusals ? refusals.certain : 'no trigger of it matches'
}

function verdictOf(refusals: Refusals | undefined): Verdict {
  if (!refusals) return 'not asked'
  const { least, most } = refusals
  if (least !== undefined && most !== undefined) return 'refuse'
  return least === most ? 'queue' : 'unsure'
}

/** Where it was not queued; by each revision that it may have been decided by. */
function noteDecision(
  decisions: DecisionsModel,
  fact: UserFact,
  formId: string,
  byRevision: readonly (Refusals | undefined)[],
): void {
  const setOff = byRevision.filter((refusals) => refusals !== undefined)
  if (setOff.length === 0) return
  if (setOff.length < byRevision.length) return decisions.loseSight(fact, formId)
  const reasons = new Set(setOff.flatMap(({ certain, least, most }) => [certain, least, most]))
  const [reason = null] = reasons
  decisions.decide(fact, formId, reasons.size === 1 ? reason : null)
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

function revisionsIn(catalog: Catalog): (fact: UserFact) => PossibleRevisions {
  const known = new Map<string, readonly Run[]>()
  return ({ organization, project, received }) => {
    const now = Date.parse(received)
    const from = catalog.revisionAt(organization, now - NEAR_MS)
    const key = `${organization}/${project}/${from}`
    const runs = known.get(key) ?? runsFrom(catalog, { organization, project, from })
    known.set(key, runs)
    return { from, until: catalog.revisionAt(organization, now + NEAR_MS), runs }
  }
}

function runsFrom(
  catalog: Catalog,
  { organization, project, from }: Pick<UserFact, 'organization' | 'project'> & { readonly from: number },
): readonly Run[] {
  const runs: Run[] = []
  for (let revision = from; revision <= catalog.latest(organization); revision++) {
    const rules = catalog.project(organization, project, revision)
    const before = runs.at(-1)
    if (before && before.rules === rules) runs[runs.length - 1] = { ...before, last: revision }
    else runs.push({ first: revision, last: revision, rules })
  }
  return runs
}

function placeOf({ partition, offset }: FoldedFact): string {
  return `record ${partition}/${offset}`
}
