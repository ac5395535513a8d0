import { HEADERS } from '@nextvisit/contracts'
import { isRetryable, sqlStateOf } from '@nextvisit/database'
import { asFoldFailure } from '../errors.ts'
import type { FoldedShare, Share } from './fold-group.ts'
import { sumOf } from './fold-result.ts'

/** Of a statement, of a transaction. */
const TIMEOUTS = ['57014', '25P04']
const LOCK_TIMEOUT = '55P03'

/** What became of a share; or why nothing of it was folded. */
export type ShareOutcome = FoldedShare | { readonly error: unknown }

export type FoldShares = (shares: readonly Share[]) => Promise<ReadonlyMap<Share, ShareOutcome>>

/**
 * Folds shares together. Where that fails because of what they hold, halves them until the one that fails is alone: the
 * others are committed. Of that one, halves the records until the part that fails is one record: what stands before it is
 * committed. Shares that take Postgres too long are halved, too. Never rejects.
 */
export async function foldInParts(
  fold: FoldShares,
  shares: readonly Share[],
): Promise<ReadonlyMap<Share, ShareOutcome>> {
  try {
    return await fold(shares)
  } catch (error) {
    const [only] = shares
    if (only && shares.length === 1) return new Map([[only, await foldHalves(fold, only, error)]])
    if (!isOfTheShares(error)) return new Map(shares.map((share) => [share, { error }]))
  }
  const half = shares.length >> 1
  const first = await foldInParts(fold, shares.slice(0, half))
  return new Map([...first, ...(await foldInParts(fold, shares.slice(half)))])
}

/** A share that failed alone. Fails only if nothing of it was folded. */
async function foldHalves(fold: FoldShares, share: Share, error: unknown): Promise<ShareOutcome> {
  const { position, batch } = share
  if (batch.records.length < 2 || !isOfTheRecords(error)) return { error: failureOf(share, error) }
  const [first, second] = halvesOf(share)
  const before = await foldOne(fold, first)
  if ('error' in before || before.result.outcome === 'stale') return before
  if (position.checkpoint().nextOffset < first.batch.nextOffset) return before
  const rest = await foldOne(fold, second)
  if ('error' in rest) return before // the next attempt begins there, and meets the error again
  const after = Promise.all([before.after, rest.after])
  return { result: sumOf(before.result, rest.result), after }
}

async function foldOne(fold: FoldShares, share: Share): Promise<ShareOutcome> {
  try {
    const [outcome] = (await fold([share])).values()
    return outcome ?? { error: new Error('A fold said nothing of its share') }
  } catch (error) {
    return foldHalves(fold, share, error)
  }
}

/** Names the record where only one was folded. */
function failureOf({ position, batch }: Share, error: unknown): unknown {
  const [only, ...others] = batch.records
  const isOne = only !== undefined && others.length === 0
  const failed = isOne ? { offset: only.offset, id: only.headers[HEADERS.id] } : position.checkpoint().nextOffset
  return asFoldFailure(position.key, failed, error)
}

/** Whether fewer records may fold: not while Postgres is unavailable or busy. */
function isOfTheRecords(error: unknown): boolean {
  return !isRetryable(error) || TIMEOUTS.includes(sqlStateOf(error) ?? '')
}

/** A lock that one partition's rows wait for must not hold up the others. */
function isOfTheShares(error: unknown): boolean {
  return isOfTheRecords(error) || sqlStateOf(error) === LOCK_TIMEOUT
}

function halvesOf(share: Share): readonly [Share, Share] {
  const { batch } = share
  const { records } = batch
  const half = records.length >> 1
  const between = records[half]?.offset ?? batch.nextOffset
  return [
    { ...share, batch: { ...batch, nextOffset: between, records: records.slice(0, half) } },
    { ...share, batch: { ...batch, fetchedFrom: between, records: records.slice(half) } },
  ]
}
