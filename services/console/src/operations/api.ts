import { DeadLetterGroup, PartitionStatus } from '@nextvisit/contracts'
import { z } from 'zod'
import { defineRoute, Nothing } from '../http/define-route.ts'

const PartitionLine = z.strictObject({
  partition: z.number().int(),
  /** Address of the owning process; null: no answering process owns it. */
  owner: z.string().nullable(),
  checkpoint: z.string().nullable(),
  lagRecords: z.number().nullable(),
  lagSeconds: z.number().nullable(),
  /** `message` is null for viewers, as it may quote personal data. */
  alarms: z.array(PartitionStatus.shape.alarms.element.extend({ message: z.string().nullable() })),
})
export type PartitionLine = z.infer<typeof PartitionLine>

const ConsumerOperations = z.strictObject({
  service: z.string(),
  /** The topic that it folds. */
  topic: z.string(),
  processes: z.number().int(),
  /** Addresses of the processes that do not answer. */
  silent: z.array(z.string()),
  partitions: z.array(PartitionLine),
  /** null: not counted in time. */
  deadLetters: z.array(DeadLetterGroup).nullable(),
})
export type ConsumerOperations = z.infer<typeof ConsumerOperations>

export const operationsApi = {
  listConsumers: defineRoute({
    role: 'viewer',
    input: Nothing,
    answer: z.strictObject({ consumers: z.array(ConsumerOperations) }),
  }),
}
