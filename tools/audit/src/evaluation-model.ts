import type { OnActivity } from './activity-model.ts'
import type { Catalog, ProjectOfRevision } from './catalog.ts'
import { createDecisionsModel, type PossibleDecision } from './decisions-model.ts'
import { type ClearFact, type FormFact, type FormQueued, type UserFact, userKey } from './facts.ts'
import type { Findings } from './findings.ts'
import { checkGates, type GatesThen, type QueueThen, TO_QUEUE } from './gates.ts'
import type { FoldedFact, UserRange } from './model.ts'
import { createOffers } from './offers.ts'
import { type PossibleRevisions, possibleRevisionsIn, type RevisionRange } from './possible-revisions.ts'
import { createQueueHistory, type QueuesThen } from './queue-history.ts'
import { createRevisionWait, type Verdict } from './revision-wait.ts'
import { recordRefOf, type Snapshot } from './snapshot.ts'
import { type ActivityThen, isEvaluated as isActivityEvaluated, type Triggered, triggeredBy } from './triggers.ts'
import type { TriggerInFile } from './workspace-file.ts'

/** Repeats the evaluator's evaluation of each record (forms.md), and compares its queued forms and decisions. */
export interface EvaluationModel {
  /** Receives every fact of `form-events` of this pass's users, before their records. */
  readonly foldForm: (fact: FormFact) => void
  /** Receives each record that the evaluator has folded, in the same order. */
  readonly judge: OnActivity
  /** Returns true if a visit received at this instant may have been offered the row. `key`: of user and row. */
  readonly mayBeOffered: (key: string, at: string) => boolean
  /** Compares the last decisions, and drops the users of this pass. */
  readonly compareUsers: (snapshot: Snapshot, range: UserRange) => Promise<void>
  /**
   * Returns the numbers of pairs of a record and a form that it triggered or queued. Undecided pairs, for which the log is not
   * sufficient, are not reported.
   */
  readonly counts: () => { readonly decided: number; readonly undecided: number }
}

/** A record that the evaluator folded, and its knowledge about the user then. */
interface EvaluatedRecord {
  readonly fact: UserFact
  readonly how: FoldedFact
  readonly activity: ActivityThen
  readonly queues: QueuesThen
}

/** Verdicts of the gates about a triggered form, for each possible queue. */
interface Evaluated {
  readonly trigger: TriggerInFile
  readonly certain: GatesThen
  readonly possible: readonly GatesThen[]
}

export function createEvaluationModel(findings: Findings, catalog: Catalog): EvaluationModel {
  const history = createQueueHistory()
  const decisions = createDecisionsModel()
  const wait = createRevisionWait()
  const possibleRevisions = possibleRevisionsIn(catalog)
  const checkOffer = createOffers(findings, history)
  const isEvaluated = (fact: ClearFact): boolean => isActivityEvaluated(fact) || history.hasFinished(fact)
  const counts = { decided: 0, undecided: 0 }

  const checkQueued = (
    evaluated: EvaluatedRecord,
    { formId, organization, project, catalogRevision }: FormQueued,
  ): void => {
    const { fact, how } = evaluated
    if (isEvaluated(fact) && !catalog.isKnown(organization, catalogRevision)) {
      counts.undecided += 1
      return decisions.decide(fact, formId, [])
    }
    counts.decided += 1
    const form = evaluate(evaluated, formId, catalog.project(organization, project, catalogRevision))
    const of = { first: catalogRevision, last: catalogRevision }
    decisions.decide(
      fact,
      formId,
      form ? possibleDecisions(form, of).filter(({ outcome }) => outcome === 'queued') : [],
    )
    const because = !isEvaluated(fact) ? 'is not evaluated' : form ? form.certain.reason : 'no trigger matches'
    if (because === undefined) return
    findings.add('form-events: refused', `${userKey(fact)}/${formId}`, `${recordOf(how)} queued it: ${because}`)
  }

  /** Reports a settled verdict. It keeps no reference to the record, because a pending decision may wait for long. */
  const onSettled =
    (about: string, recordRef: string) =>
    (verdict: Exclude<Verdict, 'not triggered'>): void => {
      counts[verdict === 'undecided' ? 'undecided' : 'decided'] += 1
      if (verdict !== 'queue') return
      findings.add('form-events: not queued', about, `${recordRef} triggers it, no gate refuses, but it was not queued`)
    }

  const checkNotQueued = (
    evaluated: EvaluatedRecord,
    formId: string,
    { from, until, runs }: PossibleRevisions,
  ): void => {
    const { fact, how } = evaluated
    const byRun = runs.map(({ rules, ...run }) => ({ run, form: evaluate(evaluated, formId, rules) }))
    const mayBeTriggered = byRun.some(({ run, form }) => form || !run.isKnown)
    const triggered = byRun.flatMap(({ run, form }) => (form ? possibleDecisions(form, run) : []))
    if (byRun.every(({ form }) => form)) {
      decisions.decide(
        fact,
        formId,
        triggered.filter(({ outcome }) => outcome !== 'queued'),
      )
    } else if (mayBeTriggered) decisions.markUnknown(fact, formId)
    wait.enqueue({
      partition: how.partition,
      organization: fact.organization,
      from,
      until,
      verdicts: byRun.map(({ run, form }) => ({ ...run, verdict: run.isKnown ? verdictOf(form) : 'undecided' })),
      onSettled: onSettled(`${userKey(fact)}/${formId}`, recordOf(how)),
    })
  }

  const judgeInOrder = (evaluated: EvaluatedRecord, queued: readonly FormQueued[], when: PossibleRevisions): void => {
    if (isEvaluated(evaluated.fact) && when.runs.some(({ isKnown }) => !isKnown))
      decisions.markFormsUnknown(evaluated.fact)
    for (const one of queued) checkQueued(evaluated, one)
    if (!isEvaluated(evaluated.fact)) return
    const formIds = formIdsFor(evaluated.fact, when)
    for (const { formId } of queued) formIds.delete(formId)
    for (const formId of formIds) checkNotQueued(evaluated, formId, when)
  }

  return {
    foldForm: history.foldForm,

    judge: (fact, how, active) => {
      // A retried dead letter queues and shows nothing.
      if (how.isLate) return
      // Forms that an answer sets off see the queue without the row that it ends.
      if (fact.type === 'AnswerGiven') history.endRow(fact)
      const queued = history.queuedBy(fact)
      const when = possibleRevisions(fact)
      if (active) judgeInOrder({ ...active, how, queues: history.at(fact) }, queued, when)
      else {
        decisions.markUserUnknown(fact)
        if (isEvaluated(fact)) counts.undecided += 1
      }
      for (const { catalogRevision } of queued) wait.observe(how.partition, fact.organization, catalogRevision)
      history.pass(fact)
      if (fact.type === 'IdentifyRequested' && isEvaluated(fact))
        checkOffer({ fact, how, activity: active?.activity, runs: when.runs })
    },

    mayBeOffered: history.mayBeOffered,

    compareUsers: async (snapshot, range) => {
      wait.end()
      history.clear()
      await decisions.compareUsers(snapshot, range, findings)
    },

    counts: () => ({ ...counts }),
  }
}

/** Returns the ids of the forms that a record may trigger by one of these revisions, or all ids if a revision is unknown. */
function formIdsFor(fact: ClearFact, { runs }: PossibleRevisions): Set<string> {
  const areKnown = runs.every(({ isKnown }) => isKnown)
  const ofRules = ({ forms, formIdsByEvent, formIdsOfAnyRecord }: ProjectOfRevision): Iterable<string> => {
    if (!areKnown) return forms.keys()
    const ofEvent = fact.type === 'EventTracked' ? formIdsByEvent.get(fact.slug) : undefined
    return [...formIdsOfAnyRecord, ...(ofEvent ?? [])]
  }
  return new Set(runs.flatMap(({ rules }) => (rules ? [...ofRules(rules)] : [])))
}

/** Evaluates a form; undefined: no trigger matches. */
function evaluate(
  { fact, activity, queues }: EvaluatedRecord,
  formId: string,
  project: ProjectOfRevision | undefined,
): Evaluated | undefined {
  const form = project?.forms.get(formId)
  const triggered = form && triggeredBy(form, fact, activity)
  if (!project || !triggered) return undefined
  const candidate = { form, project, userId: fact.userId, now: Date.parse(fact.received), activity }
  const check = (queue: QueueThen) => withWhere(triggered, () => checkGates(TO_QUEUE, candidate, queue))
  const certain = check(queues.certain)
  const possible = queues.possible.map((queue) => (queue === queues.certain ? certain : check(queue)))
  return { trigger: triggered.trigger.inFile, certain, possible }
}

const REFUSED_BY_WHERE = {
  event: 'properties-differ',
  answers: 'answers-differ',
  visit: undefined,
  'first seen': undefined,
} as const

/** Prepends the gate `where` of a trigger with a condition on properties or answers (forms.md, Gates). */
function withWhere({ trigger, where }: Triggered, checkOthers: () => GatesThen): GatesThen {
  if (!where) return checkOthers()
  const { holds: passed, ...compared } = where
  const { reason, gates } = passed ? checkOthers() : { reason: REFUSED_BY_WHERE[trigger.on], gates: [] }
  return { reason, gates: [{ gate: 'where', passed, compared }, ...gates] }
}

function verdictOf(form: Evaluated | undefined): Verdict {
  if (!form) return 'not triggered'
  const refused = form.possible.filter(({ reason }) => reason !== undefined)
  if (refused.length === form.possible.length) return 'refuse'
  return refused.length === 0 ? 'queue' : 'undecided'
}

/** Returns the decisions that the evaluator may have stored, by one of these revisions. */
function possibleDecisions(
  { trigger, certain, possible }: Evaluated,
  { first, last }: Pick<RevisionRange, 'first' | 'last'>,
): PossibleDecision[] {
  return Array.from(new Set([certain, ...possible]), ({ reason, gates }) => {
    return { first, last, outcome: reason ?? 'queued', details: JSON.stringify({ trigger, gates }) }
  })
}

function recordOf(how: FoldedFact): string {
  return `record ${recordRefOf(how)}`
}
