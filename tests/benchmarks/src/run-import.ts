/**
 * `pnpm benchmark:import [LINES] [OPTION…]`: measures lines per second of `nextvisit import`, and the latency of live events
 * beside it, with and without a form that reacts. The same events alone, in the same stack, are the reference. Further
 * arguments are given to the command, such as `--max-delay 2`. Needs Linux, because it reads /proc.
 */
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { cpus, tmpdir } from 'node:os'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { runPacedLoad, startThrowAwayStack } from '@nextvisit/testing/black-box'
import { measureCpu } from './cost/measure-cpu.ts'
import { readEndedChildrenCpuSeconds } from './cost/process-use.ts'
import { openStackProbe, type StackProbe } from './cost/stack-probe.ts'
import { percentile } from './percentile.ts'
import { readCountsOrExit } from './read-counts.ts'
import { CLI, runNode } from './run-node.ts'

const PER_SECOND = 50
const WARM_LINES = 20_000
const ALONE_SECONDS = 15
const LIVE_USERS = 200
const LAG_EVERY_MS = 500
/** Events of each imported user. */
const EVENTS_A_USER = 20

const KINDS = { 'no form reacts': 'Page Viewed', 'a form reacts': 'Checkout Completed' } as const
type Kind = keyof typeof KINDS
const kinds = Object.keys(KINDS) as Kind[]

const HELP = `Usage: npx -y pnpm benchmark:import [LINES] [OPTION…]

Starts its own stack, and measures nextvisit import alone and beside live events. Needs Linux.

  LINES     lines of the imported file (default 150000)
  OPTION    passed to nextvisit import, such as --max-delay 2; only after LINES
  --help`
const [linesText, ...options] = process.argv.slice(2)
const [lines = 0] = readCountsOrExit(
  HELP,
  [{ name: 'LINES', byDefault: 150_000 }],
  options.includes('--help') ? ['--help'] : linesText === undefined ? [] : [linesText],
)

const folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
const stack = await startThrowAwayStack({
  workspaceFile: path.resolve(import.meta.dirname, '../benchmark-workspace.yaml'),
})
let refused = 0
const agent = new Agent({ keepAlive: true })

try {
  const probe = await openStackProbe(stack)
  for (let index = 0; index < LIVE_USERS; index += 1)
    await post('/v2/admin/identify-user', { userName: `live-${index}` })
  console.log('Warming up …')
  await importFile(await writeHistory('warm', WARM_LINES))
  await probe.waitUntilCaughtUp()
  console.log(`Live events alone, for ${ALONE_SECONDS} s …`)
  const alone = await measureLive(AbortSignal.timeout(ALONE_SECONDS * 1_000))

  console.log(`Importing ${lines} lines alone …`)
  const beforeSeconds = await readEndedChildrenCpuSeconds()
  const undisturbed = await measureCpu(stack, async () => {
    const figures = await measureImport(probe, 'alone')
    return { ...figures, behindSeconds: await probe.waitUntilCaughtUp() }
  })
  const ownSeconds = (await readEndedChildrenCpuSeconds()) - beforeSeconds
  console.log(`Importing ${lines} lines beside live events …`)
  const done = new AbortController()
  const live = measureLive(done.signal)
  const disturbed = await measureImport(probe, 'beside')
  done.abort()
  const beside = await live
  await probe.close()

  const { result, cpuSeconds, otherSeconds } = undisturbed
  const used = { ...cpuSeconds, 'nextvisit import': ownSeconds }
  const all = Object.values(used).reduce((sum, seconds) => sum + seconds, 0)
  console.log(`\n| Import | lines per second | largest lag, records |\n|---|--:|--:|`)
  console.log(`| alone | ${rowOf(result)} |`)
  console.log(`| beside ${PER_SECOND} live events per second | ${rowOf(disturbed)} |`)
  console.log(`\nEvery consumer had folded the last line after ${result.behindSeconds.toFixed(1)} s.`)
  console.log('\n| Live event, p50 · p99 ms | alone | beside the import |\n|---|--:|--:|')
  for (const kind of kinds) console.log(`| ${kind} | ${both(alone.get(kind))} | ${both(beside.get(kind))} |`)
  console.log(`\n${refused} live events were refused.`)
  console.log('\n| CPU of an import alone | µs per line |\n|---|--:|')
  for (const [name, seconds] of [...Object.entries(used), ['all of these', all] as const])
    console.log(`| ${name} | ${((seconds * 1e6) / lines).toFixed(1)} |`)
  console.log(`| other programs | ${((Math.max(0, otherSeconds - ownSeconds) * 1e6) / lines).toFixed(1)} |`)
  const bound = (cpus().length * lines) / all
  console.log(
    `\nWith ${cpus().length} cores for nothing else: at most ${Math.round(bound).toLocaleString('en')} lines per second.`,
  )
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  agent.destroy()
  await stack.remove()
  await rm(folder, { recursive: true, force: true })
  process.exit()
}

interface ImportFigures {
  readonly seconds: number
  readonly mostLag: number
}

async function measureImport(probe: StackProbe, name: string): Promise<ImportFigures> {
  const file = await writeHistory(name, lines)
  const done = new AbortController()
  const watching = watchLag(probe, done.signal)
  const seconds = await importFile(file)
  done.abort()
  return { seconds, mostLag: await watching }
}

/** Resolves to the largest lag in records until `signal` aborts. A busy broker may not answer in time. */
async function watchLag(probe: StackProbe, signal: AbortSignal): Promise<number> {
  let most = 0
  while (!signal.aborted) {
    most = Math.max(most, await probe.lagRecords().catch(() => 0))
    await sleep(LAG_EVERY_MS)
  }
  return most
}

function rowOf({ seconds, mostLag }: ImportFigures): string {
  return `${Math.round(lines / seconds).toLocaleString('en')} | ${mostLag.toLocaleString('en')}`
}

/** Writes a history: each user is identified, and then has events with properties. */
async function writeHistory(name: string, count: number): Promise<string> {
  const file = path.join(folder, `${name}.ndjson`)
  const beganMs = Date.UTC(2021, 0, 1)
  await pipeline(function* () {
    for (let index = 0; index < count; index += 1) {
      const userName = `${name}-${Math.floor(index / (EVENTS_A_USER + 1))}`
      const occurredAt = new Date(beganMs + index * 1_000).toISOString()
      const line =
        index % (EVENTS_A_USER + 1) === 0
          ? { type: 'identify', userName, userAttributes: { $set: { plan: 'pro', seats: 5 } }, occurredAt }
          : {
              type: 'track',
              userName,
              eventName: `Event ${index % 17}`,
              occurredAt,
              properties: { total: index % 100, currency: 'EUR', item: `SKU-${index % 1_000}` },
              id: `${name}-${index}`,
            }
      yield `${JSON.stringify(line)}\n`
    }
  }, createWriteStream(file))
  return file
}

/** Resolves to the seconds that the command took, its start included. */
async function importFile(file: string): Promise<number> {
  const beganAt = performance.now()
  await runNode([CLI, 'import', file, '--project', 'bench/shop', ...options], { NEXTVISIT_DATA: stack.dataDirectory })
  return (performance.now() - beganAt) / 1_000
}

/** Measures the latency of live events in ms, by kind. */
async function measureLive(signal: AbortSignal): Promise<ReadonlyMap<Kind, readonly number[]>> {
  const took = new Map<Kind, number[]>(kinds.map((kind) => [kind, []]))
  await runPacedLoad(PER_SECOND, signal, async (sequence) => {
    const kind = kinds[sequence % kinds.length] ?? 'a form reacts'
    const beganAt = performance.now()
    const body = { userName: `live-${sequence % LIVE_USERS}`, eventName: KINDS[kind] }
    const isAnswered = await post('/v2/admin/track-event', body).then(
      () => true,
      () => false,
    )
    if (isAnswered) took.get(kind)?.push(performance.now() - beganAt)
    else refused += 1
  })
  return took
}

function post(route: string, body: object): Promise<void> {
  const headers = { 'x-api-key': stack.keys.admin, 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const sent = request(`${stack.gatewayUrl}${route}`, { method: 'POST', agent, headers }, (response) => {
      response.resume()
      response.on('end', () => {
        const { statusCode = 0 } = response
        if (statusCode >= 200 && statusCode < 300) resolve()
        else reject(new Error(`${route} was answered with ${statusCode}`))
      })
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(body))
  })
}

function both(values: readonly number[] = []): string {
  return `${percentile(values, 50).toFixed(1)} · ${percentile(values, 99).toFixed(1)}`
}
