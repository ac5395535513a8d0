/** `pnpm faults`: injects every fault of faults.ts into a stack under load, seed after seed, and writes the results. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { FAULTS, SHORT_FAULTS } from './faults.ts'
import { type FaultResult, isGood } from './fault-result.ts'
import { reportOf, summaryOf } from './report.ts'
import { openResultsFile, type ResultsFile } from './results-file.ts'
import { runSeed, runShort } from './run-seed.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const RESULTS = path.join(ROOT, 'docs/reference/faults.json')
const REPORT = path.join(ROOT, 'docs/reference/faults.md')
const HELP = `Usage: npx -y pnpm faults [options]

Injects one fault after the other into a stack under load and audits the stack after each fault. Results go to
docs/reference/faults.json, with the commit that ran; the tables in docs/reference/faults.md are rendered from it.
The next run continues: it skips faults that have struck. One seed takes about 40 minutes.

  --seeds A-B   seeds A to B; N alone means 1 to N (default 1)
  --fresh       delete all results first
  --seed S      run only this seed; print a table and store no results
  --only NAME   run only faults whose names match this regular expression; store no results
  --short       run only the faults of pnpm test, as it does: on data in memory, without a watch after each; store no results
  --render      only render the tables from docs/reference/faults.json
  --list        list the faults
  --help

Exits with 0 if every fault struck, nothing was lost or doubled, and every bound was met; with 1 otherwise; with 2 if the
arguments are invalid.

Examples:
  npx -y pnpm faults --fresh --seeds 1-10
  npx -y pnpm faults --seeds 11-20
  npx -y pnpm faults --only zombie --seed 7`

function readOptions() {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '1' },
      seed: { type: 'string' },
      only: { type: 'string', default: '' },
      short: { type: 'boolean', default: false },
      fresh: { type: 'boolean', default: false },
      render: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const { short: isShort } = values
  const faults = (isShort ? SHORT_FAULTS : FAULTS).filter(({ name }) => new RegExp(values.only).test(name))
  if (faults.length === 0) throw new RangeError(`No fault matches ${values.only}; --list shows them`)
  const seeds = values.seed === undefined ? seedsOf(values.seeds) : [wholeNumber('--seed', values.seed)]
  return { ...values, faults, seeds, isShort, isKept: values.only === '' && values.seed === undefined && !isShort }
}

/** `20` means 1 to 20; `11-20` means 11 to 20. */
function seedsOf(text: string): number[] {
  const [first = '', last] = text.split('-', 2)
  const [from, to] =
    last === undefined
      ? [1, wholeNumber('--seeds', first)]
      : [wholeNumber('--seeds', first), wholeNumber('--seeds', last)]
  if (to < from) throw new RangeError(`--seeds ${text} contains no seeds`)
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}

function wholeNumber(name: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new RangeError(`${name} must be a whole number, 1 or more`)
}

async function main(): Promise<number> {
  const options = readOptions()
  if (options.help) console.log(HELP)
  else if (options.list)
    for (const { name, isShort } of options.faults)
      console.log(isShort === true ? `${name}  (also in pnpm test)` : name)
  else if (options.render) await writeReport((await openResults(false)).all())
  else return options.isKept ? runKept(options) : runOnce(options)
  return 0
}

type Asked = Pick<ReturnType<typeof readOptions>, 'seeds' | 'faults' | 'fresh' | 'isShort'>

/** Runs all faults without a result. Reports a failed seed and continues with the next, because campaigns run unattended. */
async function runKept({ seeds, faults, fresh }: Asked): Promise<number> {
  const results = await openResults(fresh)
  const commit = await currentCommit()
  const toRun = (seed: number) => faults.filter(({ name }) => results.find(seed, name)?.witness === undefined)
  const tell = progress(seeds.reduce((sum, seed) => sum + toRun(seed).length, 0))
  const onResult = async (result: FaultResult): Promise<void> => {
    await results.put({ ...result, commit })
    await writeReport(results.all())
    tell(result)
  }
  for (const seed of seeds) {
    await runSeed({ seed, faults: toRun(seed), onResult }).catch((error: unknown) =>
      console.error(`Seed ${seed} failed; run the same command again to continue it:`, error),
    )
  }
  const asked = seeds.flatMap((seed) => faults.map(({ name }) => results.find(seed, name)))
  return asked.every((result) => result !== undefined && isGood(result)) ? 0 : 1
}

/** Runs the chosen faults and prints a table. It stores no results. */
async function runOnce({ seeds, faults, isShort }: Asked): Promise<number> {
  const results: FaultResult[] = []
  const onResult = progress(seeds.length * faults.length)
  const run = isShort ? runShort : runSeed
  for (const seed of seeds) results.push(...(await run({ seed, faults, onResult })))
  console.log(reportOf(results))
  return results.every(isGood) ? 0 : 1
}

async function git(...command: string[]): Promise<string> {
  return (await promisify(execFile)('git', command, { cwd: ROOT })).stdout.trim()
}

/** Reads the current commit; undefined outside a repository. Uncommitted changes add a `+`. */
async function currentCommit(): Promise<string | undefined> {
  try {
    const isChanged = (await git('status', '--porcelain', '--', 'packages', 'services', 'tools')) !== ''
    return `${await git('rev-parse', '--short', 'HEAD')}${isChanged ? '+' : ''}`
  } catch {
    return undefined
  }
}

function progress(total: number): (result: FaultResult) => void {
  let done = 0
  return (result) => console.error(`${String(++done).padStart(3)}/${total} ${summaryOf(result)}`)
}

function openResults(isFresh: boolean): Promise<ResultsFile> {
  return openResultsFile(RESULTS, { faults: FAULTS.map(({ name }) => name), isFresh })
}

function writeReport(results: readonly FaultResult[]): Promise<void> {
  return writeFile(REPORT, reportOf(results))
}

process.exit(
  await main().catch((error: Error) => {
    console.error(error instanceof RangeError || 'code' in error ? error.message : error)
    return 2
  }),
)
