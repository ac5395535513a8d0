import { fileURLToPath } from 'node:url'

export { askToSetAside, type SetAsideOutcome } from './ask-to-set-aside.ts'
export { type Barrier, catchUp, createBarrier, findCaughtUp, READ_BARRIER_WITHIN_MS } from './barrier.ts'
export * from './decide-dead-letters.ts'
export * from './errors.ts'
export { isDuplicate, pruneOldRecords } from './idempotent-records.ts'
export { createPartitionCounts, type PartitionCounts } from './partition-counts.ts'
export { type OutboxRow, outboxStatements } from './outbox.ts'
export { parseRecords } from './parse-records.ts'
export { createPartitionFold, type PartitionFold } from './partition-fold.ts'
export type { PartitionAlarm } from './partition-alarms.ts'
export type { PartitionProgress } from './partition-progress.ts'
export type * from './projection.ts'
export {
  type DeadLetterCause,
  type DeadLetterState,
  type DeadLetterSummary,
  type LetterPlace,
  MAX_KEY_BYTES,
  readDeadLetter,
  readDeadLetterAt,
  readDeadLetterCauses,
  readDeadLettersOfCause,
  readDecidedLetters,
  type WholeDeadLetter,
} from './read-dead-letters.ts'
export { escapeControls, readableBytes, type ReadableBytes } from './readable-bytes.ts'
export { type JsonRow, readTogether } from './read-together.ts'
export { rebuildInto, type RebuildOptions } from './rebuild.ts'
export { MAX_BYTES_A_COMMIT, MAX_BYTES_AN_EVENT, requireFits, traitBytesOf } from './require-fits.ts'
export * from './reviewed-ticks.ts'
export { createProjectionRunner, type ProjectionRunner, type ProjectionRunnerOptions } from './projection-runner.ts'

/** The folder of the core's migrations, applied in every service's schema before its own. */
export const coreMigrations = fileURLToPath(new URL('../prisma/migrations', import.meta.url))
