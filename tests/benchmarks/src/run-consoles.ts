/**
 * `pnpm benchmark:consoles`: measures the cost of an event without open consoles, and with five. Both are
 * measured alternately in one stack, twice, so that a change of the machine's speed does not look like a cost.
 */
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '@nextvisit/local-stack'
import { startThrowAwayStack, type ThrowAwayStack } from '@nextvisit/testing/black-box'
import type { LoadFigures } from './cost/cost-figures.ts'
import { createCostLoad } from './cost/cost-loads.ts'
import { identifyUsers, measureLoad, warmUp } from './cost/measure-cost.ts'
import { openStackProbe } from './cost/stack-probe.ts'
import { openConsoles } from './load/open-consoles.ts'

const WORKSPACE = path.resolve(import.meta.dirname, '../benchmark-workspace.yaml')
const CONSOLES = 5
const PER_SECOND = 100
const SECONDS = 20
const ROUNDS = 2

const say = (line: string): void => console.error(line)

interface Measured {
  readonly nobodyLooks: readonly LoadFigures[]
  readonly peopleLook: readonly LoadFigures[]
}

async function measure(stack: ThrowAwayStack): Promise<Measured> {
  const probe = await openStackProbe(stack)
  say('Identifying users …')
  await identifyUsers(stack, probe)
  const load = createCostLoad('events', stack)
  await warmUp(stack, probe, load)
  const [nobodyLooks, peopleLook]: [LoadFigures[], LoadFigures[]] = [[], []]
  for (let round = 1; round <= ROUNDS; round += 1) {
    say(`Round ${round}: ${PER_SECOND}/s for ${SECONDS} s without open consoles …`)
    nobodyLooks.push(await measureLoad(stack, probe, { load, rate: PER_SECOND, seconds: SECONDS }))
    const consoles = await openConsoles(stack, CONSOLES)
    say(`Round ${round}: the same with ${CONSOLES} open consoles …`)
    peopleLook.push(await measureLoad(stack, probe, { load, rate: PER_SECOND, seconds: SECONDS }))
    say(`  ${await consoles.close()} answers of the console`)
    await sleep(1_000)
  }
  await probe.close()
  return { nobodyLooks, peopleLook }
}

function tableOf({ nobodyLooks, peopleLook }: Measured): string {
  const processes = Object.keys(nobodyLooks[0]?.cpuMs ?? {})
  const lines = processes.map((name) => [name, meanOf(nobodyLooks, name), meanOf(peopleLook, name)] as const)
  const without = lines.reduce((sum, [, nobody]) => sum + nobody, 0)
  const beside = lines.reduce((sum, [, , people]) => sum + people, 0)
  return [
    `CPU time per event in ms, at ${PER_SECOND} events per second:\n`,
    row('process', 'no console', `${CONSOLES} consoles`),
    '|---|--:|--:|',
    ...lines.map((line) => row(...line)),
    row('all', without, `${beside.toFixed(2)} (× ${(beside / without).toFixed(2)})`),
    row('p50 / p99 ms of each round', latencyOf(nobodyLooks), latencyOf(peopleLook)),
  ].join('\n')
}

function row(name: string, ...cells: readonly (number | string)[]): string {
  return `| ${[name, ...cells.map((cell) => (typeof cell === 'number' ? cell.toFixed(2) : cell))].join(' | ')} |`
}

function latencyOf(figures: readonly LoadFigures[]): string {
  return figures.map(({ p50Ms, p99Ms }) => `${p50Ms.toFixed(0)} / ${p99Ms.toFixed(0)}`).join(', ')
}

function meanOf(figures: readonly LoadFigures[], process: string): number {
  return figures.reduce((sum, { cpuMs }) => sum + (cpuMs[process] ?? 0), 0) / figures.length
}

say('Starting a stack …')
const stack = await startThrowAwayStack({ workspaceFile: WORKSPACE, consolePort: await freePort() })
try {
  console.log(`\n${tableOf(await measure(stack))}`)
} finally {
  await stack.remove()
}
process.exit()
