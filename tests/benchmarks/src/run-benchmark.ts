/**
 * `pnpm benchmark`: tracked events per second through the gateway and through two reference servers (reference-server.ts)
 * with the same broker. All run at once and are loaded in turn. The machine is shared and noisy, so only ratios within a
 * round are meaningful. Then it repeats this at low rates, where the cost of wake-ups dominates.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { withLogAdmin } from '@nextvisit/log'
import { userConsumers as consumers } from '@nextvisit/services'
import { keyNamed, startThrowAwayStack } from '@nextvisit/testing/black-box'
import { createCostLoad, type LoadName } from './cost/cost-loads.ts'
import { identifyUsers, measureIdle } from './cost/measure-cost.ts'
import { type Measurable, measureCpu } from './cost/measure-cpu.ts'
import { openStackProbe } from './cost/stack-probe.ts'
import { type LoadResult, runLoad } from './load/run-load.ts'
import { median } from './percentile.ts'

const ROUNDS = 3
const SECONDS = 6
const WARM_SECONDS = 2
/** Low rates per second, at which each request wakes its server and Kafka. */
const PACES = [20, 100, 300] as const
const WAKES = 500
const WAKES_A_SECOND = 100
const TOPIC = 'reference-events'
/** Number of connections that send batches, with 400 events in flight. */
const BATCH_CONNECTIONS = 4
/** Consumers stopped during the measurement, because they use the same cores and the references have none. */
const CONSUMERS = consumers.map(({ name }) => name)

interface Program {
  readonly name: string
  readonly url: string
  readonly pid: number
  readonly load: LoadName
  /** Admin key. Default: that of the organization without limits. */
  readonly adminKey?: string
  /** True if metering runs; the other consumers do not run. */
  readonly withMetering?: true
}

interface PacedRow {
  readonly name: string
  readonly pace: number
  readonly measured: Measured
}

interface Measured extends LoadResult {
  readonly events: number
  /** CPU time of the server per event. */
  readonly cpuMs: number
  /** CPU time of Kafka per event. */
  readonly kafkaMs: number
}

const LIMITED_KEY = keyNamed('LIMITED_ADMIN_P')
const stack = await startThrowAwayStack({
  workspaceFile: path.resolve(import.meta.dirname, '../benchmark-workspace.yaml'),
})

try {
  console.log('Identifying users …')
  const probe = await openStackProbe(stack)
  await identifyUsers(stack, probe)
  await identifyUsers({ ...stack, keys: { ...stack.keys, admin: LIMITED_KEY } }, probe)
  await withLogAdmin({ brokers: stack.brokers, clientId: 'benchmark' }, (log) =>
    log.createTopic(TOPIC, { partitions: 12 }),
  )
  const programs: Program[] = [
    await startReference('limit', 'node:http + @platformatic/kafka, in batches'),
    await startReference('usual', 'Express + kafkajs, one by one'),
    gateway('gateway', 'events'),
    gateway('gateway, 100 events in a batch', 'batches'),
    { ...gateway('gateway, and metering', 'events'), withMetering: true },
    { ...gateway('gateway, and metering, with an event limit', 'events'), withMetering: true, adminKey: LIMITED_KEY },
  ]
  const rounds: Map<string, Measured>[] = []
  for (const program of programs) await measure(program, WARM_SECONDS)
  await probe.waitUntilCaughtUp()
  await probe.close()
  for (const consumer of CONSUMERS) stack.kill(consumer, 'SIGSTOP')
  for (let round = 1; round <= ROUNDS; round++) {
    const results = new Map<string, Measured>()
    for (const program of programs) {
      console.log(`Round ${round} of ${ROUNDS}: ${program.name} …`)
      if (program.withMetering) await startMetering()
      results.set(program.name, await measure(program, SECONDS))
      if (program.withMetering) stack.kill('metering', 'SIGSTOP')
    }
    rounds.push(results)
  }
  const alone = programs.filter(({ load, withMetering }) => load === 'events' && !withMetering)
  const paced: PacedRow[] = []
  for (let round = 1; round <= ROUNDS; round++) {
    console.log(`Round ${round} of ${ROUNDS}: the same, ${PACES.join(', ')} a second …`)
    for (const program of alone) paced.push(...(await measurePaced(program)))
  }
  const wakeMs = await measureWake()
  for (const consumer of CONSUMERS) stack.kill(consumer, 'SIGCONT')
  printTable(programs, rounds)
  printPaced(alone, paced, wakeMs)
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  await stack.remove()
  process.exit()
}

function gateway(name: string, load: LoadName): Program {
  return { name, url: stack.gatewayUrl, pid: stack.processes().get('gateway')?.pid ?? 0, load }
}

/** Starts metering, and waits until it has caught up. */
async function startMetering(): Promise<void> {
  stack.kill('metering', 'SIGCONT')
  const probe = await openStackProbe(
    stack,
    consumers.filter(({ name }) => name === 'metering'),
  )
  await probe.waitUntilCaughtUp()
  await probe.close()
}

async function startReference(kind: 'limit' | 'usual', name: string): Promise<Program> {
  const child = fork(path.join(import.meta.dirname, 'reference-server.ts'), {
    env: {
      PATH: path.dirname(process.execPath),
      REFERENCE_KIND: kind,
      REFERENCE_TOPIC: TOPIC,
      REFERENCE_KEY: stack.keys.admin,
      KAFKA_BROKERS: stack.brokers.join(','),
    },
  })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return { name, url: `http://127.0.0.1:${port}`, pid: child.pid ?? 0, load: 'events' }
}

/** Measures the steady state: a known event of known users, to which no form reacts. */
async function measure(program: Program, seconds: number, pace?: number): Promise<Measured> {
  const { url, load, adminKey = stack.keys.admin } = program
  const { next, eventsPerRequest } = createCostLoad(load, { gatewayUrl: url, keys: { ...stack.keys, admin: adminKey } })
  const connections = load === 'batches' ? { connections: BATCH_CONNECTIONS } : {}
  const { result, cpuSeconds } = await measureCpu(serverAndKafka(program), () =>
    runLoad({ url, next, seconds, perSecond: pace, ...connections }),
  )
  const events = result.answered * eventsPerRequest
  const msOf = (name: string): number => ((cpuSeconds[name] ?? 0) * 1_000) / events
  return { ...result, events, cpuMs: msOf('server'), kafkaMs: msOf('kafka') }
}

/** Measures each low rate, minus the idle use of the server and Kafka in the same time. */
async function measurePaced(program: Program): Promise<readonly PacedRow[]> {
  const { server = 0, kafka = 0 } = await measureIdle(serverAndKafka(program), SECONDS)
  const rows: PacedRow[] = []
  for (const pace of PACES) {
    const measured = await measure(program, SECONDS, pace)
    const msAnEvent = (measured.seconds * 1_000) / measured.events
    const cpuMs = measured.cpuMs - server * msAnEvent
    const kafkaMs = measured.kafkaMs - kafka * msAnEvent
    rows.push({ name: program.name, pace, measured: { ...measured, cpuMs, kafkaMs } })
  }
  return rows
}

function serverAndKafka({ pid }: Program): Measurable {
  const kafka = stack.processes().get('kafka') ?? { pid: 0 }
  return { processes: () => new Map(Object.entries({ server: { pid }, kafka })) }
}

function printTable(programs: readonly Program[], rounds: readonly ReadonlyMap<string, Measured>[]): void {
  const [limit = ''] = programs.map(({ name }) => name)
  console.log('\n| program | events/s by round | ratio to the first | p50 / p99 ms | CPU ms per event | failed |')
  console.log('|---|---|---|---|---|---|')
  for (const { name } of programs) {
    const measured = rounds.flatMap((round) => round.get(name) ?? [])
    const ratio = median(rounds.map((round) => perSecond(round.get(name)) / perSecond(round.get(limit))))
    const [p50, p99, cpu] = (['p50Ms', 'p99Ms', 'cpuMs'] as const).map((what) =>
      median(measured.map((one) => one[what])),
    )
    const failed = measured.reduce((sum, one) => sum + one.failed, 0)
    const speeds = measured.map((one) => Math.round(perSecond(one))).join(' ')
    console.log(
      `| ${name} | ${speeds} | ${ratio.toFixed(2)} | ${p50?.toFixed(1)} / ${p99?.toFixed(1)} | ${cpu?.toFixed(3)} | ${failed} |`,
    )
  }
}

/** Prints the cost of single events on an idle server and Kafka, and the cost of a mere wake-up. */
function printPaced(programs: readonly Program[], rows: readonly PacedRow[], wakeMs: number): void {
  const header = PACES.map((pace) => `${pace}/s: CPU ms per event, of it Kafka | p50 ms, failed`)
  console.log(`\n| program | ${header.join(' | ')} |\n|---|${'---|'.repeat(2 * PACES.length)}`)
  for (const { name } of programs) {
    const cells = PACES.map((pace) => {
      const measured = rows.filter((row) => row.name === name && row.pace === pace).map((row) => row.measured)
      const all = median(measured.map(({ cpuMs, kafkaMs }) => cpuMs + kafkaMs))
      const kafka = median(measured.map(({ kafkaMs }) => kafkaMs))
      const failed = measured.reduce((sum, one) => sum + one.failed, 0)
      return `${all.toFixed(2)}, ${kafka.toFixed(2)} | ${median(measured.map(({ p50Ms }) => p50Ms)).toFixed(1)}, ${failed}`
    })
    console.log(`| ${name} | ${cells.join(' | ')} |`)
  }
  console.log(`\nA timer that does nothing takes ${wakeMs.toFixed(2)} ms of CPU each time.`)
}

/** Measures the CPU time in ms of this process per wake-up by a timer. */
async function measureWake(): Promise<number> {
  const before = process.cpuUsage()
  for (let wake = 0; wake < WAKES; wake++) await sleep(1_000 / WAKES_A_SECOND)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000 / WAKES
}

function perSecond(result: Measured | undefined): number {
  return result ? result.events / result.seconds : Number.NaN
}
