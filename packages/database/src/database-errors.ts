/** Postgres is going, starting, full, a standby that only reads, or cut the session off. */
const UNAVAILABLE = /^(?:08...|53...|57P0[1-5]|25P03|25006)$/
/** Serialization failure, deadlock, lock timeout, statement timeout, transaction timeout. */
const CONTENDED = /^(?:40001|40P01|55P03|57014|25P04)$/
const CODES = new Set([
  // Node's
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  // Prisma's: can't reach, timed out, closed, no connection in time, no transaction in time, too many connections
  'P1001',
  'P1002',
  'P1008',
  'P1017',
  'P2024',
  'P2028',
  'P2037',
  // SilentConnectionError; Prisma replaces it by an error of its own with the same code
  'DATABASE_SILENT',
])
const ADAPTER_KINDS = new Set(['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TooManyConnections'])
/** What pg throws without any code. */
const MESSAGES =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed)/

/**
 * The SQLSTATE that Postgres gave, out of whatever Prisma or pg threw: `NV001` for a `RAISE … USING ERRCODE = 'NV001'`.
 * Undefined where the error did not come from Postgres.
 */
export function sqlStateOf(error: unknown): string | undefined {
  for (const link of linksOf(error)) {
    if (typeof link['originalCode'] === 'string') return link['originalCode']
    // pg's own errors; `severity` tells them from Prisma's P1001 and Node's EPIPE, which look alike.
    if (typeof link['severity'] === 'string' && typeof link['code'] === 'string') return link['code']
  }
  return undefined
}

/**
 * Postgres was unavailable, or the connection was lost or not to be had. Whether a statement (or a COMMIT) had its effect is
 * then unknown; trying again later may succeed.
 */
export function isConnectionFailure(error: unknown): boolean {
  const state = sqlStateOf(error)
  if (state !== undefined) return UNAVAILABLE.test(state)
  return linksOf(error).some(
    (link) =>
      isOneOf(CODES, link['code']) ||
      isOneOf(ADAPTER_KINDS, link['kind']) ||
      (typeof link['message'] === 'string' && MESSAGES.test(link['message'])),
  )
}

/** The same work may succeed later: a connection failure, or it stood in somebody's way (locks, deadlock, timeout). */
export function isRetryable(error: unknown): boolean {
  return isConnectionFailure(error) || CONTENDED.test(sqlStateOf(error) ?? '')
}

function isOneOf(values: ReadonlySet<string>, value: unknown): boolean {
  return typeof value === 'string' && values.has(value)
}

/** The error, what Prisma keeps of its driver's error (in `meta`), and their causes. */
function linksOf(error: unknown, depth = 0): Record<string, unknown>[] {
  if (typeof error !== 'object' || error === null || depth > 5) return []
  const link = error as Record<string, unknown>
  const meta = link['meta'] as Record<string, unknown> | undefined
  return [link, ...linksOf(meta?.['driverAdapterError'], depth + 1), ...linksOf(link['cause'], depth + 1)]
}
