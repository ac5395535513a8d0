import { Instant } from '@nextvisit/contracts'
import { z } from 'zod'

/** The state of a service's processes, as their last answers report it. */
export const ServiceState = z.strictObject({
  service: z.string(),
  isConsumer: z.boolean(),
  /** Number of configured processes, and of those that answered. */
  processes: z.number().int(),
  answering: z.number().int(),
  /** The other processes, as `host:port`. */
  silentProcesses: z.array(z.string()),
  /**
   * Set while no process answers: the time of the last answer (null: none since the console started), and an estimate of
   * the records that wait.
   */
  silence: z.strictObject({ lastAnsweredAt: Instant.nullable(), recordsWaiting: z.number().nullable() }).nullable(),
  /** Lag of a consumer; null: no process answers, or the metric is missing. */
  lagSeconds: z.number().nullable(),
  lagRecords: z.number().nullable(),
  deadLetters: z.number().nullable(),
  outboxSeconds: z.number().nullable(),
  haltedPartitions: z.array(z.number().int()),
})
export type ServiceState = z.infer<typeof ServiceState>
