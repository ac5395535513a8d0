export {
  type Consumer,
  coreMigrations,
  defineConsumer,
  type HandlerParts,
  offlineParts,
  type ProjectionParts,
} from './process/define-consumer.ts'
export { type AddressedReply, createReplyPublisher } from './replies/reply-publisher.ts'
export { runConsumer, type WorkParts } from './process/run-consumer.ts'
export { formFactRows, type FormFactToPublish } from './outbox/outbox.ts'
export type { NotePublished, PublishedRow } from './outbox/outbox-drain.ts'
export {
  type CarriedColumn,
  comparedRows,
  coreTableSources,
  type SettledUntil,
  type TableSource,
  type TableSources,
  unknownTables,
} from './rebuild/table-sources.ts'
export { answerDeadLetters } from './dead-letters/answer-dead-letters.ts'
export { answerPersonalData } from './queries/answer-personal-data.ts'
export {
  type Barrier,
  catchUp,
  createBarrier,
  findCaughtUp,
  READ_BARRIER_WITHIN_MS,
  staleUnless,
} from './queries/barrier.ts'
export * from './core/errors.ts'
export { readNextOffsets } from './fold/checkpoint.ts'
export { isDuplicate, pruneOldRecords } from './fold/duplicates.ts'
export { decodeFacts } from './fold/decode-facts.ts'
export { eraseRows, type ErasedUser, erasedSource, erasedUserOf } from './fold/erase-users.ts'
export { erasureTypeOf, readFences } from './fold/fence-records.ts'
export { foldRecords } from './fold/fold-batches.ts'
export { createUserKeys, type UserKeys } from './fold/user-keys.ts'
export { createReadGauges } from './watch/read-gauges.ts'
export { createRounds } from './watch/rounds.ts'
export { createPartitionFold, type PartitionFold } from './partition/partition-fold.ts'
export * from './core/projection.ts'
export { erasedUsers, userKeys } from './core/tables.ts'
export { escapeControls } from './dead-letters/show-bytes.ts'
export { type JsonRow, readTogether } from './queries/read-together.ts'
export { rebuildInto } from './rebuild/rebuild.ts'
export { MAX_BYTES_A_COMMIT, requireFits } from './fold/require-fits.ts'
export * from './ticks/reviewed-ticks.ts'
export type { ProjectionRunner } from './process/projection-runner.ts'
