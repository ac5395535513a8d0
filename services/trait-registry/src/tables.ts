import { defineTable } from '@nextvisit/database'
import { Claim, Definition, DefinitionCount, TickMark } from '../generated/tables.ts'

/** The earliest record by (received, id) names a definition. */
const OF_EARLIEST = { leastBy: ['firstSeenAt', 'firstRecordId'] } as const

/** Shared by all partitions: an upsert adds, and nothing is read first. */
export const definitions = defineTable(...Definition, {
  name: OF_EARLIEST,
  firstSeenAt: OF_EARLIEST,
  firstRecordId: OF_EARLIEST,
  // There are several where a publish succeeded but was not acknowledged. Any of them will do.
  registeredBy: 'least',
})
/** Each row is of one partition. */
export const definitionCounts = defineTable(...DefinitionCount, { count: 'add', lastSeenAt: 'greatest' })
/** By key only: the SQL function `claim_names` writes the rest. */
export const claims = defineTable(...Claim)
export const tickMarks = defineTable(...TickMark, { instant: 'greatest' })
