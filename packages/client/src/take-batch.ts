import { MAX_BATCH_ITEMS } from './batch-limits.ts'
import type { WaitingCall } from './waiting-call.ts'

type Candidate = Pick<WaitingCall, 'json' | 'user' | 'sendFrom'>

const BEGIN = Buffer.from('{"items":[')
const COMMA = Buffer.from(',')
const END = Buffer.from(']}')
/** Bytes of a batch without items. */
export const ENVELOPE_BYTES = BEGIN.length + END.length

/** Returns the body of a batch, in UTF-8. */
export function batchBody(calls: readonly Pick<WaitingCall, 'json'>[]): Uint8Array<ArrayBuffer> {
  return Buffer.concat([...calls.flatMap(({ json }, index) => [index === 0 ? BEGIN : COMMA, json]), END])
}

interface BatchRules {
  /** Maximum bytes of a batch with several calls. */
  readonly maxBytes: number
  /** Users with a call in flight. */
  readonly busyUsers: ReadonlySet<string>
  /** Current instant, by `performance.now()`. */
  readonly now: number
}

/**
 * Returns the next batch: the first calls, in order, that may be sent now. Several calls of one user may be in the batch: if
 * the gateway asks to send an item again, it has not recorded a later item of that user in the same batch
 * (decisions.md, Batch). A call never overtakes a waiting or in-flight call of the same user, and is not sent while it is in
 * flight, because its user is busy.
 */
export function takeBatch<Call extends Candidate>(
  calls: Iterable<Call>,
  { maxBytes, busyUsers, now }: BatchRules,
): readonly Call[] {
  const heldUsers = new Set(busyUsers)
  const batch: Call[] = []
  let bytes = ENVELOPE_BYTES
  for (const call of calls) {
    const { user, json, sendFrom } = call
    if (heldUsers.has(user)) continue
    if (sendFrom > now) {
      heldUsers.add(user)
      continue
    }
    const isFull = batch.length === MAX_BATCH_ITEMS || bytes + json.length > maxBytes
    if (isFull && batch.length > 0) break
    batch.push(call)
    bytes += json.length + 1
  }
  return batch
}
