import { DeadLetterGroup, Instant } from '@nextvisit/contracts'
import { z } from 'zod'

export const PartitionLine = z.strictObject({
  partition: z.number().int(),
  /** The address of the process that owns it; null: no process that answers does. */
  owner: z.string().nullable(),
  checkpoint: z.string().nullable(),
  lagRecords: z.number().nullable(),
  lagSeconds: z.number().nullable(),
  alarms: z.array(
    z.strictObject({
      kind: z.enum(['halted', 'stalled', 'ticks']),
      offset: z.string(),
      recordId: z.string().nullable(),
      /** Whether the record can be set aside now. */
      canSetAside: z.boolean(),
      code: z.string(),
      /** Of the last error; viewers do not see it, as it may quote what a user said. */
      message: z.string().nullable(),
      since: Instant,
    }),
  ),
})
export type PartitionLine = z.infer<typeof PartitionLine>

export const ConsumerOperations = z.strictObject({
  service: z.string(),
  processes: z.number().int(),
  /** Addresses of those that do not answer. */
  silent: z.array(z.string()),
  partitions: z.array(PartitionLine),
  /** null: no process counted them in time. */
  deadLetters: z.array(z.strictObject(DeadLetterGroup.shape)).nullable(),
})
export type ConsumerOperations = z.infer<typeof ConsumerOperations>

export const ConsumersAnswer = z.strictObject({ consumers: z.array(ConsumerOperations) })
export type ConsumersAnswer = z.infer<typeof ConsumersAnswer>
