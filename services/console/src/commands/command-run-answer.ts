import { ErrorLine, Instant, ProgressLine } from '@nextvisit/contracts'
import { z } from 'zod'

/** Reason why a command ended without an outcome. */
const Failure = ErrorLine.omit({ type: true })
export type Failure = z.infer<typeof Failure>

/** The part of an answer that every run of a command has. */
export const CommandRunAnswer = z.strictObject({
  /** Name of the session that started it. */
  by: z.string(),
  startedAt: Instant,
  /** null: running. */
  endedAt: Instant.nullable(),
  progress: ProgressLine.omit({ type: true }).nullable(),
  failure: Failure.nullable(),
})
export type CommandRunAnswer = z.infer<typeof CommandRunAnswer>
