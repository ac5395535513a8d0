const REPORTED_LEVELS: readonly unknown[] = ['warn', 'error', 'fatal']
const QUIET_FOR_MS = 30_000

/**
 * Creates a function that prints the services' warnings on the terminal, each message of a service at most once in half a
 * minute. It omits messages of kafkajs, because services log their consequences. The log files contain everything.
 */
export function createLogSummary(report: (line: string) => void): (service: string, line: string) => void {
  const printedAt = new Map<string, number>()
  return (service, line) => {
    const message = warningIn(line)
    if (message === undefined) return
    const warning = `${service}: ${message}`
    const now = performance.now()
    if (now - (printedAt.get(warning) ?? Number.NEGATIVE_INFINITY) < QUIET_FOR_MS) return
    printedAt.set(warning, now)
    report(warning)
  }
}

/** Returns the message in a log line, if the service itself logged it. */
export function messageIn(line: string): string {
  return entryIn(line)?.message ?? line
}

function warningIn(line: string): string | undefined {
  const entry = entryIn(line)
  return REPORTED_LEVELS.includes(entry?.level) && !entry?.isFromKafkajs ? entry?.message : undefined
}

function entryIn(line: string): { level: unknown; message: string; isFromKafkajs: boolean } | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    const { level, msg, kafkajs } = JSON.parse(line) as { level?: unknown; msg?: unknown; kafkajs?: unknown }
    return typeof msg === 'string' ? { level, message: msg, isFromKafkajs: kafkajs !== undefined } : undefined
  } catch {
    return undefined
  }
}
