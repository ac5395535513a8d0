/** `pnpm faults`: does everything of faults.ts to a stack under load, seed after seed, and writes what came of it. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { FAULTS } from './faults.ts'
import { reportOf, summaryOf } from './report.ts'
import type { FaultResult } from './run-fault.ts'
import { runSeed } from './run-seed.ts'

const REPORT = path.resolve(import.meta.dirname, '../../../../docs/faults.md')
const HELP = `Usage: npx -y pnpm faults [options]

Does one fault after the other to a stack under load (docs/faults.md), counts everything again after each, and writes
the table to docs/faults.md unless --only or --seed choose a part. About ten minutes a seed.

  --seeds N     how many seeds, from 1 on (default 1)
  --seed S      this seed alone
  --only NAME   faults whose name matches this regular expression
  --list        the faults
  --help

Ends with 0 where nothing was lost or doubled and every fault struck, else 1; 2 where it was called wrongly.

Example:
  npx -y pnpm faults --only zombie --seed 7`

function readOptions() {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '1' },
      seed: { type: 'string' },
      only: { type: 'string', default: '' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const faults = FAULTS.filter(({ name }) => new RegExp(values.only).test(name))
  if (faults.length === 0) throw new RangeError(`No fault matches ${values.only}; --list shows them`)
  const count = wholeNumber('--seeds', values.seeds)
  const seeds =
    values.seed === undefined
      ? Array.from({ length: count }, (_, index) => index + 1)
      : [wholeNumber('--seed', values.seed)]
  return { ...values, faults, seeds, isWhole: values.only === '' && values.seed === undefined }
}

function wholeNumber(name: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new RangeError(`${name} must be a whole number from 1 on`)
}

async function main(): Promise<number> {
  const { faults, seeds, list, help, isWhole } = readOptions()
  if (help) console.log(HELP)
  else if (list)
    for (const { name, isShort } of faults) console.log(isShort === true ? `${name}  (also in pnpm test)` : name)
  if (help || list) return 0
  const results: FaultResult[] = []
  const total = seeds.length * faults.length
  const onResult = (result: FaultResult): void => {
    results.push(result)
    console.error(`${String(results.length).padStart(3)}/${total} ${summaryOf(result)}`)
  }
  for (const seed of seeds) {
    console.error(`Seed ${seed}: a stack comes up …`)
    await runSeed({ seed, faults, onResult })
    if (isWhole) await writeFile(REPORT, reportOf(results))
  }
  if (!isWhole) console.log(reportOf(results))
  return results.every(({ witness, differences }) => witness !== undefined && differences.length === 0) ? 0 : 1
}

process.exit(
  await main().catch((error: Error) => {
    console.error(error instanceof RangeError || 'code' in error ? error.message : error)
    return 2
  }),
)
