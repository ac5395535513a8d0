const REPORTED_LEVELS: readonly unknown[] = ['warn', 'error', 'fatal']
const QUIET_FOR_MS = 30_000

/**
 * Creates a function that prints the services' warnings on the terminal, each message of a service at most once in half a
 * minute, and the end of a printed outage (`createOutageLog`). It omits messages of kafkajs, because services log their
 * consequences. The log files contain everything.
 */
export function createLogSummary(report: (line: string) => void): (service: string, line: string) => void {
  const printedAt = new Map<string, number>()
  const unended = new Set<string>()
  return (service, line) => {
    const entry = entryIn(line)
    if (!entry || entry.isFromKafkajs) return
    const { message, ends } = entry
    const warning = `${service}: ${message}`
    if (ends !== undefined && unended.delete(`${service}: ${ends}`)) report(`✓ ${warning}`)
    if (!REPORTED_LEVELS.includes(entry.level)) return
    unended.add(warning)
    const now = performance.now()
    if (now - (printedAt.get(warning) ?? Number.NEGATIVE_INFINITY) < QUIET_FOR_MS) return
    printedAt.set(warning, now)
    report(`! ${warning}`)
  }
}

/** Returns the message in a log line, if the service itself logged it. */
export function messageIn(line: string): string {
  return entryIn(line)?.message ?? line
}

interface Entry {
  readonly level: unknown
  readonly message: string
  readonly isFromKafkajs: boolean
  /** The message of the warning that this one ends. */
  readonly ends: string | undefined
}

function entryIn(line: string): Entry | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    const { level, msg, kafkajs, ends } = JSON.parse(line) as Partial<Record<string, unknown>>
    if (typeof msg !== 'string') return undefined
    return {
      level,
      message: msg,
      isFromKafkajs: kafkajs !== undefined,
      ends: typeof ends === 'string' ? ends : undefined,
    }
  } catch {
    return undefined
  }
}
