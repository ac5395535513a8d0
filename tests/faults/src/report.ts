import { BOUNDS, type Bound, type FaultResult, isBeyond, missedBounds } from './fault-result.ts'

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)

/** Formats a result as one line of the running campaign. */
export function summaryOf(result: FaultResult): string {
  const { fault, seed, witness, requests, unknown, needless, differences } = result
  const { failoverMs, heldUpMs, growthMb, unchecked, besideMs, roomFreeMs } = result
  const parts = [
    `${requests} requests`,
    `${unknown} unknown`,
    ...(needless === 0 ? [] : [`${needless} needless`]),
    `longest ${seconds(result.longestMs)} s`,
    `recovered ${seconds(result.recoveryMs)} s`,
    ...(failoverMs === undefined ? [] : [`failover ${seconds(failoverMs)} s`]),
    ...(heldUpMs === undefined ? [] : [`held up ${seconds(heldUpMs)} s`]),
    ...(growthMb === undefined ? [] : [`+${growthMb} MB`]),
    ...(unchecked === undefined ? [] : [`${unchecked} unchecked`]),
    ...(besideMs === undefined ? [] : [`beside ${seconds(besideMs)} s`]),
    ...(roomFreeMs === undefined ? [] : [`room free ${seconds(roomFreeMs)} s`]),
    `at rest ${seconds(result.atRestMs)} s`,
    `took ${seconds(result.tookMs)} s`,
  ]
  const missed = missedBounds(result)
  const outcome = differences.length === 0 ? 'no difference' : JSON.stringify(differences)
  const late = missed.length === 0 ? '' : `; BEYOND ${missed.join(', ')}`
  return `seed ${seed}  ${fault}: ${witness ?? 'DID NOT STRIKE'}; ${parts.join(', ')}; ${outcome}${late}`
}

/** Renders docs/reference/faults.md: a table by family and a table by fault, each with the worst value of all seeds. */
export function reportOf(results: readonly FaultResult[]): string {
  return `# Fault tests

\`npx -y pnpm faults\` writes this page. [Run the fault tests](../guides/test.md#fault-tests) describes the command.

Each fault strikes a whole stack that serves identify, track, visit and answer requests in three projects. A witness proves that the fault struck.
Faults on [leased room](../decisions/0017-room-is-leased-far-from-the-limit.md) add an organization with 200 events per second.
After each fault, the [auditor](../../tools/audit) recomputes all read models from the log. It compares them with the live tables
and with the answers that callers got. [Faults on erasures](../guides/test.md#fault-tests) also check the status and the users.

${totalsOf(results)}

## By family

${tableOf(results, ({ family }) => family)}

## Columns

${legend()}

**!** marks a value beyond its bound. Every value is the worst of all seeds.

## By fault

${tableOf(results, ({ fault }) => fault, [['Witness (example)', witnessOf]])}
`
}

function legend(): string {
  const rows = [
    ['Column', 'Meaning', 'Bound'],
    ['---', '---', '---'],
    [
      'Unknown',
      'Requests without an answer or with 503. Their records are in the log once or not at all.',
      UNKNOWN_BOUND,
    ],
    [
      'Differences',
      'Rows, records or answers that the auditor computes differently; erasures that did not end as they must.',
      '0',
    ],
    [
      'Longest',
      'Slowest answer. Excludes the time in which a frozen gateway was stopped.',
      `${seconds(BOUNDS.longestMs)} s`,
    ],
    [
      'Recovery',
      'From the end of the fault to the last failed request. The load runs until no request has failed for 3 s, at most 30 s.',
      `${seconds(BOUNDS.recoveryMs)} s`,
    ],
    [
      'Failover',
      'From the signal to the owner until other processes have committed on all its partitions.',
      `${seconds(BOUNDS.failoverMs)} s`,
    ],
    [
      'Held up',
      'From the append of a poison record until every consumer has committed the next record.',
      `${seconds(BOUNDS.heldUpMs)} s`,
    ],
    [
      '+ MB',
      'Memory growth of the worst service, after garbage collection, from 4 s after the start to the end of an outage of over 20 s. Large requests add load.',
      `${BOUNDS.growthMb} MB`,
    ],
    ['Unchecked', 'Limit checks skipped beside a hostile organization.', String(BOUNDS.unchecked)],
    ['Beside', 'Slowest answer to other organizations beside a hostile one.', `${seconds(BOUNDS.besideMs)} s`],
    [
      'Room free',
      'From rest until no leased room is reserved. Room leased by a killed gateway stays reserved for a minute.',
      `${seconds(BOUNDS.roomFreeMs)} s`,
    ],
    ['At rest', 'Time until every consumer had read everything and the audit was done.', ''],
  ]
  return rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

const UNKNOWN_BOUND = `${BOUNDS.needless} if every part is available`

function totalsOf(results: readonly FaultResult[]): string {
  const struck = results.filter(({ witness }) => witness !== undefined)
  const differing = results.filter(({ differences }) => differences.length > 0)
  const late = results.filter((result) => missedBounds(result).length > 0)
  const requests = sumOf(results, (result) => result.requests)
  return `Seeds ${rangesOf(results)}: ${results.length} runs, ${struck.length} of which struck; ${requests} requests; ${differing.length} runs with a difference, ${late.length} beyond a bound. ${commitsOf(results)}`
}

function commitsOf(results: readonly FaultResult[]): string {
  const commits = [...new Set(results.map(({ commit }) => commit ?? 'unknown'))]
  return `Commits: ${commits.join(', ')}.`
}

/** Formats seeds as ranges, for example `1–10, 12`. */
function rangesOf(results: readonly FaultResult[]): string {
  const seeds = [...new Set(results.map(({ seed }) => seed))].toSorted((one, other) => one - other)
  const firsts = seeds.filter((seed) => !seeds.includes(seed - 1))
  const lasts = seeds.filter((seed) => !seeds.includes(seed + 1))
  return firsts.map((first, at) => (first === lasts[at] ? first : `${first}–${lasts[at]}`)).join(', ')
}

type Column = readonly [title: string, cellOf: (runs: readonly FaultResult[]) => string | number]

const COLUMNS: readonly Column[] = [
  ['Runs', (runs) => runs.length],
  ['Requests', (runs) => sumOf(runs, ({ requests }) => requests)],
  [
    'Unknown',
    (runs) =>
      marked(
        sumOf(runs, ({ unknown }) => unknown),
        runs.some(({ needless }) => isBeyond('needless', needless)),
      ),
  ],
  ['Differences', (runs) => sumOf(runs, ({ differences }) => sumOf(differences, ({ count }) => count))],
  ['Longest s', worst('longestMs', seconds)],
  ['Recovery s', worst('recoveryMs', seconds)],
  ['Failover s', worst('failoverMs', seconds)],
  ['Held up s', worst('heldUpMs', seconds)],
  ['+ MB', worst('growthMb', String)],
  ['Unchecked', worst('unchecked', String)],
  ['Beside s', worst('besideMs', seconds)],
  ['Room free s', worst('roomFreeMs', seconds)],
  ['At rest s', (runs) => seconds(Math.max(...runs.map(({ atRestMs }) => atRestMs)))],
]

function tableOf(
  results: readonly FaultResult[],
  nameOf: (result: FaultResult) => string,
  more: readonly Column[] = [],
): string {
  const columns = [...COLUMNS, ...more]
  const rows = [...Map.groupBy(results, nameOf)]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, runs]) => [name, ...columns.map(([, cellOf]) => cellOf(runs))])
  const lines = [['Fault', ...columns.map(([title]) => title)], ['---', ...columns.map(() => '--:')], ...rows]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** The worst value of the runs that measured it. */
function worst(bound: Bound, show: (value: number) => string): Column[1] {
  return (runs) => {
    const values = runs.flatMap((run) => run[bound] ?? [])
    if (values.length === 0) return ''
    const value = Math.max(...values)
    return marked(show(value), isBeyond(bound, value))
  }
}

function marked(value: number | string, isBad: boolean): string {
  return isBad ? `${value} **!**` : String(value)
}

function witnessOf(runs: readonly FaultResult[]): string {
  const missed = runs.filter(({ witness }) => witness === undefined).length
  const example = runs.find(({ witness }) => witness !== undefined)?.witness ?? ''
  return missed > 0 ? `${example} (${missed} did not strike)` : example
}

function sumOf<T>(values: readonly T[], numberOf: (value: T) => number): number {
  return values.reduce((sum, value) => sum + numberOf(value), 0)
}
