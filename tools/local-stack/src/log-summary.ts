const TELLING_LEVELS: readonly unknown[] = ['warn', 'error', 'fatal']
const QUIET_FOR_MS = 30_000

/**
 * Tells the person at the terminal what services warn of: each message of a service at most once in half a minute, and
 * none of what kafkajs says by itself, since services tell what came of it. The logs have all of it.
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

/** What a line says: the message, where it is a service's own. */
export function messageIn(line: string): string {
  return entryIn(line)?.message ?? line
}

function warningIn(line: string): string | undefined {
  const entry = entryIn(line)
  return TELLING_LEVELS.includes(entry?.level) && !entry?.isLibrarys ? entry?.message : undefined
}

function entryIn(line: string): { level: unknown; message: string; isLibrarys: boolean } | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    const { level, msg, kafkajs } = JSON.parse(line) as { level?: unknown; msg?: unknown; kafkajs?: unknown }
    return typeof msg === 'string' ? { level, message: msg, isLibrarys: kafkajs !== undefined } : undefined
  } catch {
    return undefined
  }
}
