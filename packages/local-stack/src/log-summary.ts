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

/** The message of a pino line of level warn or above. */
function warningIn(line: string): string | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    const { level, msg } = JSON.parse(line) as { level?: unknown; msg?: unknown }
    return typeof level === 'number' && level >= WARN && typeof msg === 'string' ? msg : undefined
  } catch {
    return undefined
  }
}
