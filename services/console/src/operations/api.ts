import { DeadLetterGroup, Instant } from '@nextvisit/contracts'
import { z } from 'zod'
import { type ApiTable, defineRoute, Nothing } from '../http/define-route.ts'

export const PartitionLine = z.strictObject({
  partition: z.number().int(),
  /** Address of the owning process; null: no answering process owns it. */
  owner: z.string().nullable(),
  checkpoint: z.string().nullable(),
  lagRecords: z.number().nullable(),
  lagSeconds: z.number().nullable(),
  alarms: z.array(
    z.strictObject({
      kind: z.enum(['halted', 'stalled', 'ticks']),
      offset: z.string(),
      recordId: z.string().nullable(),
      /** The record can be set aside now. */
      canSetAside: z.boolean(),
      code: z.string(),
      /** Message of the last error; null for viewers, as it may quote personal data. */
      message: z.string().nullable(),
      since: Instant,
    }),
  ),
})
export type PartitionLine = z.infer<typeof PartitionLine>

export const ConsumerOperations = z.strictObject({
  service: z.string(),
  processes: z.number().int(),
  /** Addresses of the processes that do not answer. */
  silent: z.array(z.string()),
  partitions: z.array(PartitionLine),
  /** null: not counted in time. */
  deadLetters: z.array(z.strictObject(DeadLetterGroup.shape)).nullable(),
})
export type ConsumerOperations = z.infer<typeof ConsumerOperations>

const ConsumersAnswer = z.strictObject({ consumers: z.array(ConsumerOperations) })
type ConsumersAnswer = z.infer<typeof ConsumersAnswer>

export const operationsApi = {
  listConsumers: defineRoute({ role: 'viewer', input: Nothing, answer: ConsumersAnswer }),
} satisfies ApiTable
