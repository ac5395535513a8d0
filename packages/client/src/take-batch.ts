import { MAX_BATCH_ITEMS } from './batch-limits.ts'
import type { WaitingCall } from './waiting-call.ts'

type Candidate = Pick<WaitingCall, 'item' | 'bytes' | 'sendFrom'>

/** Of a batch without items. */
export const ENVELOPE_BYTES = '{"items":[]}'.length

/** The body of a batch. */
export function batchBody(calls: readonly Pick<WaitingCall, 'json'>[]): string {
  return `{"items":[${calls.map(({ json }) => json).join(',')}]}`
}

export interface BatchRules {
  /** A batch of several calls has at most so many bytes. */
  readonly maxBytes: number
  /** Users that a request under way is about. */
  readonly busyUsers: ReadonlySet<unknown>
  /** A `performance.now()` instant. */
  readonly now: number
}

/**
 * The next batch: the first calls, in their order, that may be sent now. Several of one user travel together: where the
 * gateway asks to send an item again, it has not recorded a later one of that user in the same batch
 * (docs/spec/decisions.md, Batch). A call never overtakes one of its user that waits or is in another request.
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
