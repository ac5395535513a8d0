/** Postgres is stopping, starting, full or read-only, or ended the session. */
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
  // Prisma's: unreachable, timed out, closed, no connection in time, no transaction in time, too many connections
  'P1001',
  'P1002',
  'P1008',
  'P1017',
  'P2024',
  'P2028',
  'P2037',
  // SilentConnectionError. Prisma replaces it by its own error with the same code
  'DATABASE_SILENT',
])
const ADAPTER_KINDS = new Set(['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TooManyConnections'])
/** Messages of pg's errors without a code. */
const MESSAGES =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed)/

/**
 * Returns the SQLSTATE in an error of Prisma or pg: `NV001` for a `RAISE … USING ERRCODE = 'NV001'`. undefined: the error
 * did not come from Postgres.
 */
export function sqlStateOf(error: unknown): string | undefined {
  for (const link of linksOf(error)) {
    if (typeof link['originalCode'] === 'string') return link['originalCode']
    // Only pg's own errors have a `severity`. Prisma's P1001 and Node's EPIPE look alike otherwise.
    if (typeof link['severity'] === 'string' && typeof link['code'] === 'string') return link['code']
  }
  return undefined
}

/**
 * Returns whether Postgres was unavailable, or the connection failed. The outcome of a statement or COMMIT is then unknown,
 * and a retry may succeed.
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

/** Returns whether a retry may succeed: after a connection failure, or contention (locks, deadlock, timeout). */
export function isTransientError(error: unknown): boolean {
  return isConnectionFailure(error) || CONTENDED.test(sqlStateOf(error) ?? '')
}

function isOneOf(values: ReadonlySet<string>, value: unknown): boolean {
  return typeof value === 'string' && values.has(value)
}

/** Returns the error, the driver's error that Prisma keeps in `meta`, and their causes. */
function linksOf(error: unknown, depth = 0): Record<string, unknown>[] {
  if (typeof error !== 'object' || error === null || depth > 5) return []
  const link = error as Record<string, unknown>
  const meta = link['meta'] as Record<string, unknown> | undefined
  return [link, ...linksOf(meta?.['driverAdapterError'], depth + 1), ...linksOf(link['cause'], depth + 1)]
}
