import type { Refusal } from './results.ts'

/** Maximum number of items in a batch (decisions.md, Batch). */
export const MAX_BATCH_ITEMS = 1_000
/** Maximum bytes of a batch as JSON in UTF-8, including the envelope. */
export const MAX_BATCH_BYTES = 512_000
/** Maximum bytes of one call. The gateway refuses larger items. */
const MAX_CALL_BYTES = 102_400

/** Refusal of a call that is too large for any batch. */
export const TOO_LARGE: Refusal = {
  status: 413,
  error: 'Payload Too Large',
  message: `One call must be at most ${MAX_CALL_BYTES} bytes as JSON; a proxy before the gateway may have a lower limit`,
}
