import {
  ERASURE_STORES,
  type ErasureAnswer,
  type ErasureQuery,
  ErasureReceipt,
  type ErasuresPage,
  type ErasuresQuery,
  type ErasureStore,
  type ErasureStoreName,
  type ErasureSummary,
  type InstallationKeysAnswer,
  MAX_ERASURES_ASKED,
  type UnfinishedErasure,
} from '@nextvisit/contracts'
import { type Db, type RowOf, type Sql, sql } from '@nextvisit/database'
import { erasures, erasureStores, installationKeys } from './tables.ts'

/** Time in which every store except `user-keys` finishes an erasure, ms. */
const DUE_AFTER_MS = 60_000

/** Reads an erasure, with its receipt once it is complete. undefined: the project has no such erasure. */
export async function readErasure(db: Db, query: ErasureQuery, now: Date): Promise<ErasureAnswer | undefined> {
  const { organization, project, erasureId } = query
  const [row] = await erasures.selectByKeys(db, [{ erasureId }])
  if (!row || row.organization !== organization || row.project !== project) return undefined
  const [summary] = await summariesOf(db, [row], now)
  if (!summary || row.receipt === null) return summary
  return { ...summary, receipt: ErasureReceipt.parse(JSON.parse(row.receipt)) }
}

/** Reads a page of the erasures of a project, newest first. */
export async function listErasures(
  db: Db,
  { organization, project, limit, after }: ErasuresQuery,
  now: Date,
): Promise<ErasuresPage> {
  const isBefore: Sql =
    after === undefined
      ? sql`TRUE`
      : sql`(requested_at, erasure_id) < (
          SELECT requested_at, erasure_id FROM erasures
          WHERE (organization, project, erasure_id) = (${organization}, ${project}, ${after}::uuid))`
  const rows = await erasures.select(
    db,
    sql`FROM erasures WHERE (organization, project) = (${organization}, ${project}) AND ${isBefore}
        ORDER BY requested_at DESC, erasure_id DESC LIMIT ${limit + 1}`,
  )
  const page = rows.slice(0, limit)
  return {
    erasures: await summariesOf(db, page, now),
    next: rows.length > limit ? (page.at(-1)?.erasureId ?? null) : null,
  }
}

/** Reads the erasures of all projects that are not complete, oldest first. */
export async function readUnfinished(db: Db, now: Date): Promise<UnfinishedErasure[]> {
  const rows = await erasures.select(
    db,
    sql`FROM erasures WHERE completed_at IS NULL ORDER BY requested_at, erasure_id LIMIT ${MAX_ERASURES_ASKED}`,
  )
  const summaries = await summariesOf(db, rows, now)
  return summaries.flatMap((summary, index) => {
    const row = rows[index]
    return row ? [{ ...summary, organization: row.organization, project: row.project }] : []
  })
}

/** undefined: they are not created yet. */
export async function readInstallationKeys(db: Db): Promise<InstallationKeysAnswer | undefined> {
  const [row] = await installationKeys.selectByKeys(db, [{ id: 1 }])
  return row && { receiptKey: row.receiptKey, suppressionKey: row.suppressionKey }
}

async function summariesOf(db: Db, rows: readonly RowOf<typeof erasures>[], now: Date): Promise<ErasureSummary[]> {
  const noted = await erasureStores.selectByKeys(db, rows, ['erasureId'])
  const byErasure = Map.groupBy(noted, ({ erasureId }) => erasureId)
  return rows.map((row) => {
    const { erasureId, requestedAt, completedAt, users, unknown, suppress } = row
    const stores = storesOf(row, byErasure.get(erasureId) ?? [], now)
    const status = statusOf(stores, completedAt !== null)
    const summary = { erasureId, requestedAt, status, users, unknown, suppress, stores: [...stores] }
    return completedAt === null ? summary : { ...summary, completedAt }
  })
}

/** The rows of a complete erasure are lost with a restored backup from before its end. The receipt is in the log. */
function storesOf(
  row: RowOf<typeof erasures>,
  noted: readonly RowOf<typeof erasureStores>[],
  now: Date,
): readonly ErasureStore[] {
  const known = new Map(noted.map((store) => [store.store, store]))
  const areLost = ERASURE_STORES.some((store) => !known.get(store)?.finishedAt)
  if (row.completedAt !== null && row.receipt !== null && areLost) {
    const { data } = ErasureReceipt.safeParse(JSON.parse(row.receipt))
    if (data) return data.stores.map((store) => ({ ...store, status: 'complete' }))
  }
  return ERASURE_STORES.map((store) => storeOf(store, known.get(store), row, now))
}

function statusOf(stores: readonly ErasureStore[], isComplete: boolean): ErasureSummary['status'] {
  if (isComplete) return 'complete'
  return stores.some(({ status }) => status === 'incomplete') ? 'incomplete' : 'running'
}

/**
 * Returns the status of a store. It is incomplete while attempts fail, and when it takes longer than usual: also the eraser
 * itself may be unavailable.
 */
function storeOf(
  store: ErasureStoreName,
  noted: RowOf<typeof erasureStores> | undefined,
  { requestedAt, completedAt }: RowOf<typeof erasures>,
  now: Date,
): ErasureStore {
  const rows = noted?.rows ?? 0
  const at = noted?.finishedAt ?? completedAt
  if (at !== null) return { store, status: 'complete', at, rows }
  const dueMs = noted?.dueAt ? Date.parse(noted.dueAt) : Date.parse(requestedAt) + DUE_AFTER_MS
  const isOverdue = now.getTime() > dueMs
  const because = noted?.because ?? (isOverdue ? OVERDUE[store] : undefined)
  if (because !== undefined) return { store, status: 'incomplete', rows, because }
  const isDueKnown = store !== 'user-keys' || noted?.dueAt
  return { store, status: 'running', ...(isDueKnown && { dueAt: new Date(dueMs).toISOString() }), rows }
}

const LAGS = 'It has not folded the erasure yet. See docs/runbooks/lag.md.'
const OVERDUE: Readonly<Record<ErasureStoreName, string>> = {
  'user-events': 'The facts are not published yet. See docs/runbooks/erasure.md.',
  'user-projector': LAGS,
  'form-trigger-evaluator': LAGS,
  metering: LAGS,
  'trait-registry': LAGS,
  'answer-collector': LAGS,
  'webhook-dispatcher': LAGS,
  redis: 'It waits for user-projector, form-trigger-evaluator and answer-collector.',
  'user-keys': 'The keys have not left the files of user-keys yet. See docs/runbooks/erasure.md.',
}
