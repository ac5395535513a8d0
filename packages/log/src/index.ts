export type * from './log-connection.ts'
export type * from './publisher.ts'
export type * from './record-consumer.ts'
