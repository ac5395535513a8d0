import { MAX_BODY_BYTES } from '@nextvisit/contracts'
import { nameRules } from '../bodies/rejection.ts'

/** Maximum size of a line in bytes, the same as for a body (contract, Common to both endpoints). */
export const MAX_LINE_BYTES = MAX_BODY_BYTES
/** Maximum size of a line of another product's export in bytes, most of which is not kept. */
export const MAX_EXPORT_LINE_BYTES = 1_048_576
/** Maximum number of levels of such a line. Its identify and event have the limits of a body. */
export const MAX_EXPORT_DEPTH = 64
export const MAX_LINE_ID_LENGTH = 255

/** The rules for a line of history, besides those of the body that it contains (decisions.md, Import). */
export const IMPORT_RULES = nameRules({
  lineBytes: { message: `The line must be at most ${MAX_LINE_BYTES} bytes long` },
  exportLineBytes: { message: `The line must be at most ${MAX_EXPORT_LINE_BYTES} bytes long` },
  exportDepth: (line: string) => ({ message: `${line} must not be nested deeper than ${MAX_EXPORT_DEPTH}` }),
  lineId: { message: `id must be a string of 1 to ${MAX_LINE_ID_LENGTH} characters` },
  lineType: { message: 'type must be "identify" or "track"' },
  tooOld: { message: 'occurredAt must be 1970-01-01 or later: an older time usually means a missing one' },
  noOccurredAt: { message: 'occurredAt is required: the time of the event' },
})
