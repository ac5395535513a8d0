import { ErrorLine, Instant, ProgressLine } from '@nextvisit/contracts'
import { z } from 'zod'

/** Why a command ended without an outcome. */
export const Failure = ErrorLine.omit({ type: true })
export type Failure = z.infer<typeof Failure>

/** What every run of a command has. */
export const CommandRunAnswer = z.strictObject({
  /** As they called themselves. */
  by: z.string(),
  startedAt: Instant,
  /** null: it runs. */
  endedAt: Instant.nullable(),
  progress: ProgressLine.omit({ type: true }).nullable(),
  failure: Failure.nullable(),
})
export type CommandRunAnswer = z.infer<typeof CommandRunAnswer>
