import { z } from 'zod'
import { Instant } from '../primitives.ts'
import { type CallTable, defineCall } from './define-call.ts'

/** Status of a partition that the answering process owns or is about to own. */
export const PartitionStatus = z.object({
  topic: z.string(),
  partition: z.number().int(),
  /** The checkpoint. A string, because offsets have 64 bits. */
  nextOffset: z.string().regex(/^\d{1,19}$/),
  lagRecords: z.number().int(),
  lagSeconds: z.number(),
  alarms: z.array(
    z.object({
      kind: z.enum(['halted', 'stalled', 'ticks']),
      offset: z.string(),
      /** The record that halts the partition; null: no record does. */
      recordId: z.string().nullable(),
      /** That record can be set aside now, because the alarm is stored. */
      canSetAside: z.boolean(),
      code: z.string(),
      message: z.string(),
      since: Instant,
    }),
  ),
})
export type PartitionStatus = z.infer<typeof PartitionStatus>
const OperationsAnswer = z.object({ partitions: z.array(PartitionStatus) })
export type OperationsAnswer = z.infer<typeof OperationsAnswer>

/** Served by every consumer. */
export const operationsCalls = {
  /** Lists the partitions of the answering process. */
  readOperations: defineCall({ path: '/internal/operations/read', question: z.object({}), answer: OperationsAnswer }),
} satisfies CallTable
