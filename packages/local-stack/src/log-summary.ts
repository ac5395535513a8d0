const WARN = 40
const QUIET_FOR_MS = 30_000

/**
 * Tells the person at the terminal what services warn of: each message of a service at most once in half a minute. The
 * logs have all of it.
 */
export function createLogSummary(report: (line: string) => void): (service: string, line: string) => void {
  const toldAt = new Map<string, number>()
  return (service, line) => {
    const message = warningIn(line)
    if (message === undefined) return
    const told = `${service}: ${message}`
    const now = performance.now()
    if (now - (toldAt.get(told) ?? Number.NEGATIVE_INFINITY) < QUIET_FOR_MS) return
    toldAt.set(told, now)
    report(told)
  }
}

/** What a line says: the message, where it is one of pino's. */
export function messageIn(line: string): string {
  return pinoLine(line)?.message ?? line
}

function warningIn(line: string): string | undefined {
  const entry = pinoLine(line)
  return entry !== undefined && entry.level >= WARN ? entry.message : undefined
}

function pinoLine(line: string): { readonly level: number; readonly message: string } | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    const { level, msg } = JSON.parse(line) as { level?: unknown; msg?: unknown }
    return typeof level === 'number' && typeof msg === 'string' ? { level, message: msg } : undefined
  } catch {
    return undefined
  }
}
