import { createOutageLog, type OutageLog, type OutageLogger } from './outage-log.ts'

/** Failures in a row after which a part counts as silent, at any speed. */
const FAILURES = 3
/** Fewer failures count, too, if nothing succeeded for this long. */
const FAILING_MS = 5_000
/** After this time without a request, the last outcome of a dependency is no longer current. */
const FORGOTTEN_AFTER_MS = 30_000
/** Lines of one dependency in {@link PERIOD_MS}. Later changes are logged at its end, if they still hold. */
const MAX_LINES = 4
const PERIOD_MS = 60_000

/** Receives whether a call was answered in time. */
export type NoteAnswer = (isAnswered: boolean) => void

interface Dependency {
  /** Parts that fail, such as the replies of one partition, and the whole, with the number of failures in a row. */
  readonly failing: Map<string, { failures: number; readonly sinceMs: number; lastMs: number }>
  readonly outage: OutageLog
  readonly linesAtMs: number[]
  isReported: boolean
  timer: NodeJS.Timeout | undefined
}

export type DependencyLog = ReturnType<typeof createDependencyLog>

/**
 * Logs when a dependency stops answering, and when it answers again: a line each, however few or many calls fail, and few
 * lines if it flaps. A breaker opens only after several failures within seconds, so at night it may never open.
 */
export function createDependencyLog(logger: OutageLogger, nowMs = () => performance.now()) {
  const dependencies = new Map<string, Dependency>()

  function dependencyOf(name: string): Dependency {
    const known = dependencies.get(name)
    if (known) return known
    const outage = createOutageLog(logger, { began: `${name} does not answer`, ended: `${name} answers again` })
    const created = { failing: new Map(), outage, linesAtMs: [], isReported: false, timer: undefined }
    dependencies.set(name, created)
    return created
  }

  function report(name: string, dependency: Dependency): void {
    const { failing, outage, linesAtMs } = dependency
    const now = nowMs()
    const silent = [...failing].filter(([, one]) => isSilent(one, now)).map(([part]) => part)
    if (silent.length > 0 === dependency.isReported) return
    while ((linesAtMs[0] ?? now) <= now - PERIOD_MS) linesAtMs.shift()
    if (linesAtMs.length >= MAX_LINES) {
      dependency.timer ??= setTimeout(
        () => {
          dependency.timer = undefined
          report(name, dependency)
        },
        (linesAtMs[0] ?? now) + PERIOD_MS - now,
      ).unref()
      return
    }
    linesAtMs.push(now)
    dependency.isReported = silent.length > 0
    const fields = { dependency: name }
    if (dependency.isReported) outage.begin({ ...fields, of: silent.join('; ') })
    else outage.end(fields)
  }

  return {
    /** Returns a function that takes note of each answer of a dependency's part, such as the reads of a service. */
    noteOf: (name: string, part: string): NoteAnswer => {
      const dependency = dependencyOf(name)
      const { failing } = dependency
      return (isAnswered) => {
        const now = nowMs()
        // Also as a whole: calls of a busy gateway's parts may be rare.
        for (const failed of new Set([name, part])) {
          const before = failing.get(failed) ?? { failures: 0, sinceMs: now, lastMs: now }
          if (isAnswered) failing.delete(failed)
          else failing.set(failed, { ...before, failures: before.failures + 1, lastMs: now })
        }
        if (isAnswered)
          for (const [other, { lastMs }] of failing) if (now - lastMs > FORGOTTEN_AFTER_MS) failing.delete(other)
        report(name, dependency)
      }
    },
    stop: (): void => {
      for (const { timer } of dependencies.values()) clearTimeout(timer)
    },
  }
}

function isSilent(
  { failures, sinceMs }: { readonly failures: number; readonly sinceMs: number },
  now: number,
): boolean {
  return failures >= FAILURES || (failures > 1 && now - sinceMs >= FAILING_MS)
}
