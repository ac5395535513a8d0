import type { Refusal } from './results.ts'

/** What one batch may have (docs/spec/decisions.md, Batch). */
export const MAX_BATCH_ITEMS = 1_000
/** Bytes of JSON in UTF-8, with what is around the items. */
export const MAX_BATCH_BYTES = 512_000
/** Of one call. The gateway refuses a larger one alone. */
const MAX_CALL_BYTES = 102_400

/** The answer to a call that no batch can have. */
export const TOO_LARGE: Refusal = {
  status: 413,
  error: 'Payload Too Large',
  message: `One call must be at most ${MAX_CALL_BYTES} bytes as JSON, or less if a proxy before the gateway says so`,
}
