type ReplayErrorCode =
  | 'REPLAY_RUNS'
  | 'REPLAY_OF_OTHER_CODE'
  | 'SCHEMAS_DIFFER'
  | 'TABLE_WITHOUT_ROLE'
  | 'FOREIGN_OBJECTS'
  | 'LOG_BEGINS_LATE'
  | 'LIVE_IS_BUSY'
  | 'NOT_CAUGHT_UP'
  | 'NOT_LEVEL'
  | 'NOT_SETTLED'
  | 'REBUILD_PUBLISHES'

const RETRYABLE: ReadonlySet<ReplayErrorCode> = new Set(['REPLAY_RUNS', 'LIVE_IS_BUSY', 'NOT_CAUGHT_UP'])

/** Ends a replay before the swap; the message names the remedy. */
export class ReplayError extends Error {
  override readonly name = 'ReplayError'
  readonly code: ReplayErrorCode
  readonly retryable: boolean

  constructor(code: ReplayErrorCode, message: string) {
    super(message)
    this.code = code
    this.retryable = RETRYABLE.has(code)
  }
}
