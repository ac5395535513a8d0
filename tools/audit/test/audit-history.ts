import { createActivityModel } from '../src/activity-model.ts'
import { createCatalog } from '../src/catalog.ts'
import { createCountsForModel } from '../src/counts-for-model.ts'
import type { FormFact, FormQueued, UserFact } from '../src/facts.ts'
import { createFindings, type FindingsOfKind } from '../src/findings.ts'
import { createQueueModel } from '../src/queue-model.ts'
import { createEvaluationModel, type EvaluationModel } from '../src/evaluation-model.ts'
import type { Snapshot } from '../src/snapshot.ts'

export const PARTITION = 3

/** Contents of the log and of the evaluator's tables, without Kafka and Postgres. */
export interface History {
  /** Revisions of one organization. */
  readonly catalog: readonly object[]
  /** Records of `user-events`, in the order of the evaluator's fold. */
  readonly records: readonly UserFact[]
  /** Earlier records, which a fence covers. */
  readonly fenced?: readonly UserFact[]
  /** Records among `records` that were dead letters first. */
  readonly late?: readonly UserFact[]
  /** Records of `form-events`. */
  readonly forms: readonly FormFact[]
  /** Rows of `queue`; absent: they are not compared. */
  readonly queue?: readonly object[] | undefined
  /** Rows of `decisions`; absent: they are not compared. */
  readonly decisions?: readonly object[] | undefined
  readonly isAtRest?: boolean
}

/** Audits `countsFor` of records, and the evaluator's queue and decisions. */
export async function auditHistory(
  history: History,
): Promise<ReturnType<EvaluationModel['counts']> & { findings: readonly FindingsOfKind[] }> {
  const { records, fenced = [], late = [], forms, queue = [], decisions = [], isAtRest = false } = history
  const catalog = createCatalog()
  for (const revision of history.catalog) catalog.observe(Buffer.from(JSON.stringify(revision)))
  const findings = createFindings()
  const evaluation = createEvaluationModel(findings, catalog)
  const { mayBeOffered } = evaluation
  const isErased = ({ causeId }: FormQueued): boolean => fenced.some(({ id }) => id === causeId)
  const queueModel = createQueueModel({ findings, catalog, isAtRest, mayBeOffered, isErased })
  const activity = createActivityModel(evaluation.judge)
  const countsFor = createCountsForModel(catalog, findings)
  for (const fact of forms) {
    queueModel.foldForm(fact, { isLater: false })
    evaluation.foldForm(fact)
  }
  for (const fact of fenced) queueModel.see(fact, 0n)
  for (const [offset, fact] of records.entries()) {
    const how = { partition: PARTITION, offset: BigInt(offset), isLate: late.includes(fact) }
    queueModel.see(fact, how.offset)
    countsFor.foldUser?.(fact, how)
    activity.foldUser?.(fact, how)
    queueModel.foldUser(fact, how)
  }
  const rows = async function* (sql: string) {
    yield* sql.includes('FROM queue') ? queue : sql.includes('FROM decisions') ? decisions : []
  }
  const [snapshot, range] = [{ rows } as unknown as Snapshot, { first: '', last: 'z' }]
  await queueModel.compareUsers(snapshot, range, findings)
  await evaluation.compareUsers(snapshot, range)
  const found = findings
    .byKind()
    .filter(
      ({ kind }) => history.queue || !['missing', 'not in the log'].some((what) => kind === `forms.queue: ${what}`),
    )
    .filter(({ kind }) => history.decisions || !kind.startsWith('forms.decisions'))
  return { ...evaluation.counts(), findings: found }
}
