export * from './change-log.ts'
export * from './change-writer.ts'
export * from './changes-page.ts'
export * from './read-changes.ts'
