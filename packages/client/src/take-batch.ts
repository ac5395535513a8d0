import { MAX_BATCH_ITEMS } from './batch-limits.ts'
import type { WaitingCall } from './waiting-call.ts'

type Candidate = Pick<WaitingCall, 'item' | 'bytes' | 'sendFrom'>

/** Bytes of a batch without items. */
export const ENVELOPE_BYTES = '{"items":[]}'.length

/** Returns the body of a batch. */
export function batchBody(calls: readonly Pick<WaitingCall, 'json'>[]): string {
  return `{"items":[${calls.map(({ json }) => json).join(',')}]}`
}

interface BatchRules {
  /** Maximum bytes of a batch with several calls. */
  readonly maxBytes: number
  /** Users with a call in flight. */
  readonly busyUsers: ReadonlySet<unknown>
  /** Current instant, by `performance.now()`. */
  readonly now: number
}

/**
 * Returns the next batch: the first calls, in order, that may be sent now. Several calls of one user may be in the batch: if
 * the gateway asks to send an item again, it has not recorded a later item of that user in the same batch
 * (decisions.md, Batch). A call never overtakes a waiting or in-flight call of the same user.
 */
export function takeBatch<Call extends Candidate>(
  waiting: readonly Call[],
  { maxBytes, busyUsers, now }: BatchRules,
): readonly Call[] {
  const heldUsers = new Set(busyUsers)
  const batch: Call[] = []
  let bytes = ENVELOPE_BYTES
  for (const call of waiting) {
    const { userName } = call.item
    if (heldUsers.has(userName)) continue
    if (call.sendFrom > now) {
      heldUsers.add(userName)
      continue
    }
    const isFull = batch.length === MAX_BATCH_ITEMS || bytes + call.bytes > maxBytes
    if (isFull && batch.length > 0) break
    batch.push(call)
    bytes += call.bytes + 1
  }
  return batch
}
