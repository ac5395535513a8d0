export type { ConnectionOptions, ConnectionPool } from './connect/connection-config.ts'
export { createAdapter } from './connect/adapter.ts'
export { isConnectionFailure, isTransientError, sqlStateOf } from './connect/database-errors.ts'
export { type CommitDbOptions, openCommitDb } from './connect/open-commit-db.ts'
export { type Client, withClient } from './connect/with-client.ts'
export { applyMigrations } from './migrate/apply-migrations.ts'
export {
  asRole,
  prepareServiceSchema,
  rolePassword,
  type ServiceSchemaOptions,
} from './migrate/prepare-service-schema.ts'
export { type CommitDb, type Db, empty, join, type Queryable, queryableOn, raw, Sql, sql } from './sql.ts'
export { type ColumnsOf, isoOf, msOf } from './tables/column-types.ts'
export { defineTable, type NewRow, type RowOf } from './tables/define-table.ts'
