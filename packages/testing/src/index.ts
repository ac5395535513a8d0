export * from './facts-as-records.ts'
export * from './projection-suite.ts'
export * from './test-database.ts'
export * from './test-topic.ts'
