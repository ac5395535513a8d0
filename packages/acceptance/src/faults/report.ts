import type { FaultResult } from './run-fault.ts'

/** Beyond these a result is marked. A machine that does other things, too, misses them now and then. */
const BOUNDS = { longestMs: 2_500, recoveryMs: 10_000, growthMb: 100 } as const

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)
const marked = (text: string, isBeyond: boolean): string => (isBeyond ? `${text} **!**` : text)

/** One line while the campaign runs. */
export function summaryOf(result: FaultResult): string {
  const { fault, seed, witness, requests, unknown, differences } = result
  const outcome =
    differences.length === 0 ? 'no difference' : JSON.stringify(differences, (_key, value: unknown) => value)
  const times = `longest ${seconds(result.longestMs)} s, recovered ${seconds(result.recoveryMs)} s, at rest ${seconds(result.atRestMs)} s`
  return `seed ${seed}  ${fault}: ${witness ?? 'DID NOT STRIKE'}; ${requests} requests, ${unknown} unknown, ${times}, +${result.growthMb} MB; ${outcome}`
}

/** The table of docs/faults.md: a line a fault, the worst of all seeds. */
export function reportOf(results: readonly FaultResult[]): string {
  const seeds = [...new Set(results.map(({ seed }) => seed))]
  const struck = results.filter(({ witness }) => witness !== undefined)
  const requests = sumOf(results, ({ requests: count }) => count)
  const differing = results.filter(({ differences }) => differences.length > 0)
  return `# Faults

Written by \`npx -y pnpm faults --seeds ${seeds.length}\` (seeds ${seeds.join(', ')}). Under a load of identify, track and visits over three
projects each of these struck a whole stack; then everything was counted again by [the auditor](../packages/audit) and
held against the callers' own ledger. ${results.length} runs, ${struck.length} of which struck; ${requests} requests; ${differing.length} runs with a difference.

Unknown: answered 503 or not at all, so that the caller can't know; these may be in the log once or not at all. Longest:
the slowest answer. Recovery: from the end of the fault until the last request that failed. At rest: until every
consumer had read everything, and it was counted again. **!** is beyond a bound: answers within ${seconds(BOUNDS.longestMs)} s, no failed
request ${seconds(BOUNDS.recoveryMs)} s after, no service ${BOUNDS.growthMb} MB larger. All are the worst of all seeds, and were measured on a machine with other work
to do.

| Fault | Runs | Witness, for example | Requests | Unknown | Differences | Longest s | Recovery s | At rest s | + MB |
|---|--:|---|--:|--:|--:|--:|--:|--:|--:|
${[...Map.groupBy(results, ({ fault }) => fault)]
  .toSorted(([one], [other]) => (one < other ? -1 : 1))
  .map(([fault, runs]) => rowOf(fault, runs))
  .join('\n')}
`
}

function rowOf(fault: string, runs: readonly FaultResult[]): string {
  const longestMs = maxOf(runs, (run) => run.longestMs)
  const recoveryMs = maxOf(runs, (run) => run.recoveryMs)
  const growthMb = maxOf(runs, (run) => run.growthMb)
  const missed = runs.filter(({ witness }) => witness === undefined).length
  const witness = runs.find((run) => run.witness !== undefined)?.witness ?? ''
  const cells = [
    fault,
    runs.length,
    missed > 0 ? `${witness} (${missed} did not strike)` : witness,
    sumOf(runs, ({ requests }) => requests),
    sumOf(runs, ({ unknown }) => unknown),
    sumOf(runs, ({ differences }) => sumOf(differences, ({ count }) => count)),
    marked(seconds(longestMs), longestMs > BOUNDS.longestMs),
    marked(seconds(recoveryMs), recoveryMs > BOUNDS.recoveryMs),
    seconds(maxOf(runs, (run) => run.atRestMs)),
    marked(String(growthMb), growthMb > BOUNDS.growthMb),
  ]
  return `| ${cells.join(' | ')} |`
}

function sumOf<T>(values: readonly T[], numberOf: (value: T) => number): number {
  return values.reduce((sum, value) => sum + numberOf(value), 0)
}

function maxOf<T>(values: readonly T[], numberOf: (value: T) => number): number {
  return Math.max(0, ...values.map(numberOf))
}
