import { BOUNDS, type Bound, type FaultResult, isBeyond, missedBounds } from './fault-result.ts'

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)

/** One line while the campaign runs. */
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

/** The text of docs/faults.md: one line per fault, with the worst of all seeds. */
export function reportOf(results: readonly FaultResult[]): string {
  return `# Faults

Written by \`npx -y pnpm faults\`. ${METHOD} ${totalsOf(results)}

${LEGEND}

${tableOf(results, ({ fault }) => fault, [['Witness, for example', witnessOf]])}
`
}

/** The table in README: one line per family of faults. */
export function readmeTableOf(results: readonly FaultResult[]): string {
  return `${totalsOf(results)}

${tableOf(results, ({ family }) => family)}

Unknown: requests answered 503 or not at all while a part was unavailable; their callers must retry. Recovery: from the end of the
fault until the last request that failed. At rest: until every consumer had read everything and the audit was done.
${BOUNDS_IN_WORDS}`
}

/** Replaces the text between two marks of a document. */
export function betweenMarks(document: string, mark: string, text: string): string {
  const [open, close] = [`<!-- ${mark} -->`, `<!-- /${mark} -->`]
  const [from, to] = [document.indexOf(open), document.indexOf(close)]
  if (from < 0 || to < from) throw new RangeError(`The document has no ${open} … ${close}`)
  return `${document.slice(0, from + open.length)}\n${text}\n${document.slice(to)}`
}

const METHOD = `Each fault struck a whole stack under a load of identify, track and visits in three projects.
Where room is leased ([decision 17](decisions/0017-room-is-leased-far-from-the-limit.md)), another organization has 200 events a second, too,
and the witness says that their records named leases when the fault struck.
Then [the auditor](../tools/audit) computed everything again from the log, and compared it with the read models and with
the answers that callers got.`

const BOUNDS_IN_WORDS = `**!** marks a value beyond its bound: every answer within ${seconds(BOUNDS.longestMs)} s; no failed request later than ${seconds(BOUNDS.recoveryMs)} s after the fault,
and none at all if no part is unavailable; failover within ${seconds(BOUNDS.failoverMs)} s; a poison record delays its partition by less than ${seconds(BOUNDS.heldUpMs)} s;
in an outage no service grows by more than ${BOUNDS.growthMb} MB; beside a hostile organization every limit is checked,
and every answer to others comes within ${seconds(BOUNDS.besideMs)} s; leased room is free ${seconds(BOUNDS.roomFreeMs)} s later than at rest. Every value is the worst of all seeds.`

const LEGEND = `Unknown: requests answered 503 or not at all, so that the caller does not know the outcome; they are in the log once or not at all.
Longest: the slowest answer; for the frozen gateway, without the time in which it was stopped. Recovery: from the end of
the fault until the last request that failed; the load continues until no request has failed for 3 s, at most 30 s.
Failover: from the signal to the owner of partitions until another process had committed on every one of them. Held up:
from the append of a poison record until every consumer had committed the record behind it. + MB: how much more memory the
service that grew most used, after garbage collection, at the end of an outage of over 20 s than 4 s after its beginning,
under an additional load of large requests. Unchecked: checks of limits that were left out while a hostile organization was at work.
Beside: the slowest answer to others meanwhile. Room free: from rest until no room was reserved for the organization that
had leased it; what a killed gateway had leased is kept for a minute. At rest: until every consumer had read everything and the audit was done.
${BOUNDS_IN_WORDS}`

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

/** For example `1–10, 12`. */
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
