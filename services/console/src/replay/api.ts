import { Instant, ReplayComparison, ReplayStep } from '@nextvisit/contracts'
import { z } from 'zod'
import { CommandRunAnswer } from '../commands/api.ts'

export const StartReplay = z.strictObject({
  service: z.string().max(100),
  /** `compare` changes nothing. */
  goal: z.enum(['compare', 'swap']),
  /** Swap even if rows differ. */
  acceptDifferences: z.boolean().default(false),
  /** Discard what an interrupted replay has left. */
  restart: z.boolean().default(false),
})
export type StartReplay = z.infer<typeof StartReplay>

export const ReplayResult = z.strictObject({
  service: z.string(),
  goal: StartReplay.shape.goal,
  acceptDifferences: z.boolean(),
  /** `begin`: it reads the catalog and prepares the tables. `fold`: it folds the log. */
  step: z.enum(['begin', 'fold', ...ReplayStep.options]),
  /** That are to be folded; null: not known yet. */
  records: z.number().nullable(),
  /** When an interrupted replay began that this one continues. */
  resumedFrom: Instant.nullable(),
  /** Postgres is unavailable or busy, so it tries again in a moment. */
  isPaused: z.boolean(),
  tables: z.array(ReplayComparison).nullable(),
  outcome: z
    .strictObject({ outcome: z.enum(['compared', 'refused', 'swapped']), isEqual: z.boolean(), lockedMs: z.number() })
    .nullable(),
})
export type ReplayResult = z.infer<typeof ReplayResult>

export const ReplayAnswer = z.strictObject({
  services: z.array(z.string()),
  /** Why nobody can start one here; null: operators can. */
  obstacle: z.enum(['no-cli', 'no-database']).nullable(),
  /** The one that runs, or the last one; null: none since the console was started. */
  run: CommandRunAnswer.extend(ReplayResult.shape).nullable(),
})
export type ReplayAnswer = z.infer<typeof ReplayAnswer>
