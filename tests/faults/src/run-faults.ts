/** `pnpm faults`: does everything of faults.ts to a stack under load, seed after seed, and writes what came of it. */
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { FAULTS } from './faults.ts'
import { type FaultResult, isGood } from './fault-result.ts'
import { betweenMarks, readmeTableOf, reportOf, summaryOf } from './report.ts'
import { openResultsFile, type ResultsFile } from './results-file.ts'
import { runSeed } from './run-seed.ts'

const DOCS = path.resolve(import.meta.dirname, '../../../docs')
const RESULTS = path.join(DOCS, 'faults.json')
const REPORT = path.join(DOCS, 'faults.md')
const README = path.join(DOCS, '../README.md')
const HELP = `Usage: npx -y pnpm faults [options]

Does one fault after the other to a stack under load (docs/faults.md), counts everything again after each, and keeps
each result, with the commit that ran, in docs/faults.json. A run goes on from there: what has struck is not done again.
The tables of docs/faults.md and README.md are written from it. About seven minutes a seed.

  --seeds A-B   seeds A to B; N alone: 1 to N (default 1)
  --fresh       forget all results
  --seed S      this seed alone; nothing is kept, and a table of it is printed
  --only NAME   faults whose name matches this regular expression; as with --seed, nothing is kept
  --render      write the tables from docs/faults.json, and do nothing else
  --list        the faults
  --help

Ends with 0 where every fault struck, nothing was lost or doubled, and every bound was held, else 1; 2 where it was
called wrongly.

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
      fresh: { type: 'boolean', default: false },
      render: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const faults = FAULTS.filter(({ name }) => new RegExp(values.only).test(name))
  if (faults.length === 0) throw new RangeError(`No fault matches ${values.only}; --list shows them`)
  const seeds = values.seed === undefined ? seedsOf(values.seeds) : [wholeNumber('--seed', values.seed)]
  return { ...values, faults, seeds, isKept: values.only === '' && values.seed === undefined }
}

/** `20`: 1 to 20; `11-20` */
function seedsOf(text: string): number[] {
  const [first = '', last] = text.split('-', 2)
  const [from, to] =
    last === undefined
      ? [1, wholeNumber('--seeds', first)]
      : [wholeNumber('--seeds', first), wholeNumber('--seeds', last)]
  if (to < from) throw new RangeError(`--seeds ${text} has no seeds in it`)
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}

function wholeNumber(name: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new RangeError(`${name} must be a whole number from 1 on`)
}

async function main(): Promise<number> {
  const options = readOptions()
  if (options.help) console.log(HELP)
  else if (options.list)
    for (const { name, isShort } of options.faults)
      console.log(isShort === true ? `${name}  (also in pnpm test)` : name)
  else if (options.render) await writeTables((await openResults(false)).all())
  else return options.isKept ? runKept(options) : runOnce(options)
  return 0
}

type Asked = Pick<ReturnType<typeof readOptions>, 'seeds' | 'faults' | 'fresh'>

/** Runs what has no result yet. A seed that breaks off is told of, and the next one is run: nobody may be watching. */
async function runKept({ seeds, faults, fresh }: Asked): Promise<number> {
  const results = await openResults(fresh)
  const commit = await currentCommit()
  const toRun = (seed: number) => faults.filter(({ name }) => results.find(seed, name)?.witness === undefined)
  const tell = progress(seeds.reduce((sum, seed) => sum + toRun(seed).length, 0))
  const onResult = async (result: FaultResult): Promise<void> => {
    await results.put({ ...result, commit })
    await writeTables(results.all())
    tell(result)
  }
  for (const seed of seeds) {
    await runSeed({ seed, faults: toRun(seed), onResult }).catch((error: unknown) =>
      console.error(`Seed ${seed} broke off; the same command goes on with it:`, error),
    )
  }
  const asked = seeds.flatMap((seed) => faults.map(({ name }) => results.find(seed, name)))
  return asked.every((result) => result !== undefined && isGood(result)) ? 0 : 1
}

/** Runs a part, keeps nothing, and prints a table of it. */
async function runOnce({ seeds, faults }: Asked): Promise<number> {
  const results: FaultResult[] = []
  const tell = progress(seeds.length * faults.length)
  for (const seed of seeds) results.push(...(await runSeed({ seed, faults, onResult: tell })))
  console.log(reportOf(results))
  return results.every(isGood) ? 0 : 1
}

async function git(...command: string[]): Promise<string> {
  return (await promisify(execFile)('git', command, { cwd: DOCS })).stdout.trim()
}

/** Undefined where git does not tell. Changes that were not committed make it `…+`. */
async function currentCommit(): Promise<string | undefined> {
  try {
    const isChanged = (await git('status', '--porcelain', '--', '../packages', '../services', '../tools')) !== ''
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

async function writeTables(results: readonly FaultResult[]): Promise<void> {
  await writeFile(REPORT, reportOf(results))
  await writeFile(README, betweenMarks(await readFile(README, 'utf8'), 'faults', readmeTableOf(results)))
}

process.exit(
  await main().catch((error: Error) => {
    console.error(error instanceof RangeError || 'code' in error ? error.message : error)
    return 2
  }),
)
