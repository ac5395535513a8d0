/** `pnpm benchmark:cost`: measures the cost of an event, by process. See COST_HELP. */
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { serveOnLoopback, startThrowAwayStack } from '@nextvisit/testing/black-box'
import {
  type CostFigures,
  keepFigures,
  type LoadFigures,
  measureFixedWork,
  readKeptFigures,
} from './cost/cost-figures.ts'
import { createCostLoad } from './cost/cost-loads.ts'
import { COST_HELP, type CostOptions, readCostOptions } from './cost/cost-options.ts'
import { costTables } from './cost/cost-tables.ts'
import { identifyUsers, measureIdle, measureLoad, measureMemoryAfterLoad, warmUp } from './cost/measure-cost.ts'
import { showForms } from './cost/show-forms.ts'
import { openStackProbe } from './cost/stack-probe.ts'

const WORKSPACE = path.resolve(import.meta.dirname, '../benchmark-workspace.yaml')
/** Pause in ms between measurements, so that one does not affect the next. */
const BETWEEN_MS = 1_000

const say = (line: string): void => console.error(line)

async function main(): Promise<number> {
  const options = readCostOptions()
  if (options.isHelp) {
    console.log(COST_HELP)
    return 0
  }
  const kept = await readKeptFigures()
  const measured = await measure(options)
  console.log(`\n${costTables(measured, kept)}`)
  if (options.isSaved) await keepFigures(kept, measured)
  return 0
}

async function measure({ loads, rates, seconds, records, traced }: CostOptions): Promise<CostFigures> {
  const workMs = measureFixedWork()
  say('Starting a stack …')
  // It reads the spans, in this process, whose time is not counted.
  const collector = await serveOnLoopback((request, response) => request.resume().on('end', () => response.end()))
  const serviceEnvironment = traced === undefined ? {} : tracedEnvironment(collector.url, traced)
  const stack = await startThrowAwayStack({ workspaceFile: WORKSPACE, serviceEnvironment })
  try {
    const probe = await openStackProbe(stack)
    say('Identifying users …')
    await identifyUsers(stack, probe)
    say(`Idle for ${seconds} s …`)
    const idleCores = await measureIdle(stack, seconds)
    const measured: Record<string, Record<string, LoadFigures>> = {}
    for (const name of loads) {
      const load = createCostLoad(name, stack, name === 'answers' ? await showForms(stack) : [])
      const figures: Record<string, LoadFigures> = {}
      say(`${name}: warming up …`)
      await warmUp(stack, probe, load)
      for (const rate of rates) {
        say(`${name}, ${rate === 'flat' ? 'flat out' : `${rate}/s`}, for ${seconds} s …`)
        await sleep(BETWEEN_MS)
        figures[rate] = await measureLoad(stack, probe, { load, rate, seconds })
      }
      measured[name] = figures
    }
    if (records > 0) say(`Folding ${records} records, to measure memory …`)
    const memory = records > 0 ? await measureMemoryAfterLoad(stack, probe, records) : undefined
    await probe.close()
    const measuredAt = new Date().toISOString().slice(0, 10)
    return { measuredAt, workMs, idleCores, loads: measured, ...(memory && { memory }) }
  } finally {
    await stack.remove()
    await collector.stop()
  }
}

/** No bound, so that the ratio is that of the option at any rate. */
function tracedEnvironment(url: string, ratio: number): Readonly<Record<string, string>> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: String(ratio),
    GATEWAY_MAX_TRACES_PER_SECOND: '1000000',
  }
}

process.exit(
  await main().catch((error: Error) => {
    console.error(error instanceof RangeError || 'code' in error ? error.message : error)
    return 2
  }),
)
