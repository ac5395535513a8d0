import { Instant, LostOffsets, ReplayComparison, ReplayStep } from '@nextvisit/contracts'
import { z } from 'zod'
import { CommandRunAnswer } from '../commands/command-run.ts'
import { defineRoute, Nothing } from '../http/define-route.ts'

export const StartReplay = z.strictObject({
  service: z.string().max(100),
  /** `compare` changes nothing. */
  goal: z.enum(['compare', 'swap']),
  /** Swap even if rows differ. */
  acceptDifferences: z.boolean().default(false),
  /** Discard the progress of an interrupted replay. */
  restart: z.boolean().default(false),
})
export type StartReplay = z.infer<typeof StartReplay>

const ReplayResult = StartReplay.omit({ restart: true }).extend({
  acceptDifferences: z.boolean(),
  /** `begin`: reading the catalog and preparing tables. `fold`: folding the log. */
  step: z.enum(['begin', 'fold', ...ReplayStep.options]),
  /** Number of records to fold; null: not known yet. */
  records: z.number().nullable(),
  /** Start of the interrupted replay that this one continues. */
  resumedFrom: Instant.nullable(),
  /** Kafka or Postgres is unavailable or busy; the command retries. */
  isPaused: z.boolean(),
  /** The first offsets that cannot be rebuilt. */
  lost: z.array(LostOffsets),
  /** Number of batches with such offsets. */
  lostBatches: z.number(),
  tables: z.array(ReplayComparison).nullable(),
  outcome: z
    .strictObject({ outcome: z.enum(['compared', 'refused', 'swapped']), isEqual: z.boolean(), lockedMs: z.number() })
    .nullable(),
})
export type ReplayResult = z.infer<typeof ReplayResult>

export const replayApi = {
  readReplay: defineRoute({
    role: 'viewer',
    input: Nothing,
    answer: z.strictObject({
      services: z.array(z.string()),
      /** Reason why this console starts no replays; null: operators can start one. */
      obstacle: z.enum(['no-cli', 'no-database']).nullable(),
      /** The running replay or the last one; null: none since the console started. */
      run: CommandRunAnswer.extend(ReplayResult.shape).nullable(),
    }),
  }),
  startReplay: defineRoute({
    role: 'operator',
    input: StartReplay,
    answer: Nothing,
    logged: ({ service, goal, acceptDifferences, restart }) => ({
      service,
      goal,
      ...(acceptDifferences && { acceptDifferences: 'true' }),
      ...(restart && { restart: 'true' }),
    }),
  }),
  stopReplay: defineRoute({
    role: 'operator',
    input: Nothing,
    answer: Nothing,
    change: () => ({ kind: 'consumer.stop-replay' }),
  }),
}
