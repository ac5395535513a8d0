export * from './sql.ts'
