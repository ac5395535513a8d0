export { applyMigrations, type MigrationsOptions } from './apply-migrations.ts'
export { type AdapterOptions, createAdapter } from './create-adapter.ts'
export type { ColumnsOf } from './column-types.ts'
export { isConnectionFailure, isRetryable, sqlStateOf } from './database-errors.ts'
export { defineTable, type NewRow, type RowOf } from './define-table.ts'
export { MigrationError, SilentConnectionError } from './errors.ts'
export { prepareServiceSchema, type ServiceSchemaOptions } from './prepare-service-schema.ts'
export {
  type AllSchemasOptions,
  prepareAllSchemas,
  rolePassword,
  type ServiceDatabase,
  serviceDatabases,
  serviceMigrations,
} from './service-databases.ts'
export * from './sql.ts'
export { unlessEmpty } from './unless-empty.ts'
export { type Client, withClient } from './with-client.ts'
