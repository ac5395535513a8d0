import { defineTable } from '@nextvisit/database'
import { Claim, Definition, DefinitionCount, TickMark } from '../generated/tables.ts'

/** The earliest record by (received, id) names a definition. */
const OF_EARLIEST = { leastBy: ['firstSeenAt', 'firstRecordId'] } as const

/** Shared by all partitions. Upserts merge, and no row is read first. */
export const definitions = defineTable(...Definition, {
  name: OF_EARLIEST,
  firstSeenAt: OF_EARLIEST,
  firstRecordId: OF_EARLIEST,
  // A publish that succeeded without an acknowledgement leaves several such records. Any of them will do.
  registeredBy: 'least',
})
/** Each row belongs to one partition. */
export const definitionCounts = defineTable(...DefinitionCount, { count: 'add', lastSeenAt: 'greatest' })
/** Used by key only: the SQL function `claim_names` writes the rows. */
export const claims = defineTable(...Claim)
export const tickMarks = defineTable(...TickMark, { instant: 'greatest' })
