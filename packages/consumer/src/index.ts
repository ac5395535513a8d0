export { readConsumerConfig } from './config.ts'
export {
  type Consumer,
  type ConsumerDefinition,
  defineConsumer,
  type ProjectionParts,
  type RouteParts,
} from './define-consumer.ts'
export { type AddressedReply, createReplyPublisher, type PublishReplies } from './reply-publisher.ts'
export { rebuildParts } from './rebuild-parts.ts'
export { runConsumer } from './run-consumer.ts'
export {
  type CarriedColumn,
  coreTableRoles,
  type PartlyFolded,
  type SettledUntil,
  type TableRole,
  type TableRoles,
  unknownTables,
} from './table-roles.ts'
