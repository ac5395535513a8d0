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

/** Pairs of a record and a form that the record triggered or queued. */
export interface QueueingCounts {
  readonly decided: number
  /** The log does not show enough: nothing is reported about these. */
  readonly undecided: number
}

/** Compares who should have been queued, by the records alone (docs/spec/forms.md), with who was. */
export interface QueueingModel {
  /** Called with every fact of `form-events` of this pass's users, before their records. */
  readonly foldForm: (fact: FormFact) => void
  /** Called with each record that the evaluator has folded, in the same order. */
  readonly judge: OnActivity
  /** Compares the last decisions, and drops this pass's users. */
  readonly compareUsers: (snapshot: Snapshot, range: UserRange) => Promise<void>
  readonly counts: () => QueueingCounts
}

/** A record that the evaluator folded, and what it knew about the user then. */
interface EvaluatedRecord {
  readonly fact: UserFact
  readonly how: FoldedFact
  readonly activity: ActivityThen
  readonly queues: QueuesThen
}

/** Why a triggered form is not queued, for each queue that the record may have found. Undefined: it is queued. */
type Refusals = Readonly<Record<keyof QueuesThen, string | undefined>>

export function createQueueingModel(findings: Findings, catalog: Catalog): QueueingModel {
  const history = createQueueHistory()
  const decisions = createDecisionsModel()
  const wait = createRevisionWait()
  const possibleRevisions = revisionsIn(catalog)
  const counts = { decided: 0, undecided: 0 }

  const checkQueued = (
    evaluated: EvaluatedRecord,
    { formId, organization, project, catalogRevision }: Queued,
  ): void => {
    counts.decided += 1
    const { fact, how } = evaluated
    decisions.decide(fact, formId, 'queued')
    const because = whyNot(evaluated, formId, catalog.project(organization, project, catalogRevision))
    if (because === undefined) return
    findings.add('form-events: refused', `${userKey(fact)}/${formId}`, `${recordRefOf(how)} queued it: ${because}`)
  }

  /** Holds no reference to the record: a pending decision may wait for long. */
  const onSettled =
    (about: string, recordRef: string) =>
    (verdict: Exclude<Verdict, 'not triggered'>): void => {
      counts[verdict === 'undecided' ? 'undecided' : 'decided'] += 1
      if (verdict !== 'queue') return
      findings.add('form-events: not queued', about, `${recordRef} sets it off, no gate refuses, and it was not queued`)
    }

  const checkNotQueued = (
    evaluated: EvaluatedRecord,
    formId: string,
    { from, until, runs }: PossibleRevisions,
  ): void => {
    const { fact, how } = evaluated
    const refusals = runs.map(({ rules }) => refusalsOf(evaluated, formId, rules))
    noteDecision(decisions, fact, formId, refusals)
    wait.enqueue({
      partition: how.partition,
      organization: fact.organization,
      from,
      until,
      verdicts: runs.map((run, index) => ({ ...run, verdict: verdictOf(refusals[index]) })),
      onSettled: onSettled(`${userKey(fact)}/${formId}`, recordRefOf(how)),
    })
  }

  const judgeInOrder = (evaluated: EvaluatedRecord, queued: readonly Queued[]): void => {
    for (const one of queued) checkQueued(evaluated, one)
    if (!isEvaluated(evaluated.fact)) return
    const when = possibleRevisions(evaluated.fact)
    const formIds = new Set(when.runs.flatMap(({ rules }) => [...(rules?.forms.keys() ?? [])]))
    for (const { formId } of queued) formIds.delete(formId)
    for (const formId of formIds) checkNotQueued(evaluated, formId, when)
  }

  return {
    foldForm: history.foldForm,

    judge: (fact, how, activity) => {
      // A record that was folded long after its time queues nothing and shows nothing.
      if (how.isLate) return
      const queued = history.queuedBy(fact)
      if (activity) judgeInOrder({ fact, how, activity, queues: history.at(fact) }, queued)
      else {
        decisions.markUserUnknown(fact)
        if (isEvaluated(fact)) counts.undecided += 1
      }
      for (const { catalogRevision } of queued) wait.observe(how.partition, fact.organization, catalogRevision)
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

/** Undefined: no trigger matches. */
function refusalsOf(
  { fact, activity, queues }: EvaluatedRecord,
  formId: string,
  project: ProjectOfRevision | undefined,
): Refusals | undefined {
  const form = project?.forms.get(formId)
  if (!project || !form || !isTriggered(form, fact, activity)) return undefined
  const candidate = { form, project, userId: fact.userId, now: Date.parse(fact.received), activity }
  const [certain, least, most] = [queues.certain, queues.least, queues.most].map((queue) => refusalOf(candidate, queue))
  return { certain, least, most }
}

/** Why a form that was queued should not have been. Undefined: it may be queued. */
function whyNot(
  evaluated: EvaluatedRecord,
  formId: string,
  project: ProjectOfRevision | undefined,
): string | undefined {
  if (!isEvaluated(evaluated.fact)) return 'is not evaluated'
  const refusals = refusalsOf(evaluated, formId, project)
  return refusals ? refusals.certain : 'no trigger of it matches'
}

function verdictOf(refusals: Refusals | undefined): Verdict {
  if (!refusals) return 'not triggered'
  const { least, most } = refusals
  if (least !== undefined && most !== undefined) return 'refuse'
  return least === most ? 'queue' : 'undecided'
}

/** For a form that was not queued, with the refusals of each revision that may have decided it. */
function noteDecision(
  decisions: DecisionsModel,
  fact: UserFact,
  formId: string,
  byRevision: readonly (Refusals | undefined)[],
): void {
  const triggered = byRevision.filter((refusals) => refusals !== undefined)
  if (triggered.length === 0) return
  if (triggered.length < byRevision.length) return decisions.markUnknown(fact, formId)
  const reasons = new Set(triggered.flatMap(({ certain, least, most }) => [certain, least, most]))
  const [reason = null] = reasons
  decisions.decide(fact, formId, reasons.size === 1 ? reason : null)
}

/** When a record was evaluated is unknown: by the revision that was current when it was received, or by any later one. */
interface PossibleRevisions {
  /** Current shortly before and after the record was received. */
  readonly from: number
  readonly until: number
  /** From `from` to the latest, joined where they say the same about the project. No rules: there is no such project. */
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

function recordRefOf({ partition, offset }: FoldedFact): string {
  return `record ${partition}/${offset}`
}
