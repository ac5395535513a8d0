import { parseArgs } from 'node:util'
import { LOADS, type LoadName } from './cost-loads.ts'

/** Events per second; `flat`: as fast as answers arrive. */
export type Rate = number | 'flat'

export interface CostOptions {
  readonly loads: readonly LoadName[]
  readonly rates: readonly Rate[]
  readonly seconds: number
  /** Records to fold before memory is measured; 0 skips that. */
  readonly records: number
  /** The part of the requests that is traced; undefined: traces are off. */
  readonly traced: number | undefined
  readonly isSaved: boolean
  readonly isHelp: boolean
}

export const COST_HELP = `Usage: npx -y pnpm benchmark:cost [options]

Starts its own stack, loads it, and prints the cost of an event: CPU time of every process, transactions, the
latency of the answers, the lag afterwards, and the memory of each service. In brackets: the ratio to the figures in
tests/benchmarks/cost-figures.json, those of the last release. It needs Linux, and Kafka, Postgres and Redis as processes
(not in containers). No figure makes it fail, because machines differ, and a shared machine varies from hour to hour.

  --loads NAMES    of ${LOADS.join(', ')}, separated by commas (default: all).
                   events have no properties, properties are events with 200 bytes of them
  --rates RATES    events per second, separated by commas; flat: as fast as answers arrive (default: 20,100,300,flat)
  --seconds N      duration of each measurement (default 10)
  --records N      records to fold before memory is measured; 0 skips that (default 200000)
  --traced RATIO   export traces of this part of the requests to a collector that drops them (default: traces are off)
  --save           write the measured figures to cost-figures.json; other figures stay unchanged
  --help

Example: npx -y pnpm benchmark:cost --loads events --rates 100 --seconds 20 --records 0`

/** Reads the command line. Throws a RangeError that names the invalid option, or parseArgs' error. */
export function readCostOptions(args?: readonly string[]): CostOptions {
  const { values } = parseArgs({
    ...(args && { args: [...args] }),
    options: {
      loads: { type: 'string', default: LOADS.join(',') },
      rates: { type: 'string', default: '20,100,300,flat' },
      seconds: { type: 'string', default: '10' },
      records: { type: 'string', default: '200000' },
      traced: { type: 'string' },
      save: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  return {
    loads: listed(values.loads).map(loadOf),
    rates: listed(values.rates).map((text) => (text === 'flat' ? text : numberOf('--rates', text, 1))),
    seconds: numberOf('--seconds', values.seconds, 1),
    records: numberOf('--records', values.records, 0),
    traced: values.traced === undefined ? undefined : ratioOf('--traced', values.traced),
    isSaved: values.save,
    isHelp: values.help,
  }
}

function listed(text: string): string[] {
  return text.split(',').filter((item) => item !== '')
}

function loadOf(text: string): LoadName {
  const found = LOADS.find((name) => name === text)
  if (!found) throw new RangeError(`--loads: ${text} is not one of ${LOADS.join(', ')}`)
  return found
}

function numberOf(option: string, text: string, least: number): number {
  if (/^\d{1,7}$/.test(text) && Number(text) >= least) return Number(text)
  throw new RangeError(`${option}: ${text} is not a whole number, ${least} or more`)
}

function ratioOf(option: string, text: string): number {
  const ratio = text === '' ? NaN : Number(text)
  if (ratio >= 0 && ratio <= 1) return ratio
  throw new RangeError(`${option}: ${text} is not a ratio from 0 to 1`)
}
