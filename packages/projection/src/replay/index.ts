export type { SettledUntil } from './rebuild-source.ts'
export { type ReplayedService, type ReplayEnvironment, type ReplayRequest, replayService } from './replay-service.ts'
export { runReplay, type RunReplayOptions } from './run-replay.ts'
export { type PartlyFolded, type TableRole, type TableRoles, unknownTables } from './table-roles.ts'
