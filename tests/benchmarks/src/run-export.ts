/**
 * `pnpm benchmark:export [RECORDS] [ROUNDS]`: measures the throughput of `nextvisit export` and of a reference
 * (reference-export.ts) that reads the same broker in turn. CPU time is measured over the whole process, minus a run
 * without records. Needs Linux, because it reads /proc.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { TOPICS, USER_KEYS_TOPIC } from '@nextvisit/contracts'
import { startKafka } from '@nextvisit/local-stack'
import { withLogAdmin } from '@nextvisit/log'
import { fillLog } from '@nextvisit/testing/black-box'
import { readEndedChildrenCpuSeconds } from './cost/process-use.ts'
import { readCountsOrExit } from './read-counts.ts'
import { CLI, runNode } from './run-node.ts'

const PARTITIONS = 12
const USERS = 19_997
/** Records in flight, as from a busy gateway. Most of the log's batches then have a few records. */
const IN_FLIGHT = 64
const SECRET_KEY = 'ab'.repeat(32)
const REFERENCE = path.join(import.meta.dirname, 'reference-export.ts')
const HELP = `Usage: npx -y pnpm benchmark:export [RECORDS] [ROUNDS]

Starts its own Kafka, and measures the throughput and CPU time of nextvisit export beside a reference program. Needs Linux.

  RECORDS   records in the log (default 150000)
  ROUNDS    measurements of each program (default 3)
  --help`
const [records = 0, rounds = 0] = readCountsOrExit(HELP, [
  { name: 'RECORDS', byDefault: 150_000 },
  { name: 'ROUNDS', byDefault: 3 },
])

interface Run {
  /** Time reported by the program, from its first connection to its last byte. */
  readonly seconds: number
  readonly cpuSeconds: number
}

const folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
const kafka = await startKafka({
  dataDirectory: path.join(folder, 'kafka'),
  logFile: path.join(folder, 'kafka.log'),
  durable: false,
})

try {
  const brokers = kafka.brokers.split(',')
  await withLogAdmin({ brokers, clientId: 'benchmark' }, async (admin) => {
    for (const topic of [TOPICS.userEvents, USER_KEYS_TOPIC]) await admin.createTopic(topic, { partitions: PARTITIONS })
    await admin.createTopic(TOPICS.erasures, { partitions: 1 })
  })
  console.log(`Publishing ${records} records …`)
  const projects = [{ organization: 'acme', project: 'shop' }]
  await fillLog(brokers, { projects, facts: records, users: USERS, inFlight: IN_FLIGHT, secretKey: SECRET_KEY })
  const programs = new Map([
    [
      'reference',
      (wanted: number) => run([REFERENCE, kafka.brokers, TOPICS.userEvents, `${wanted}`, fileOf('values')], wanted),
    ],
    ['export', (wanted: number) => run(exportArguments('all.ndjson', wanted), wanted)],
    ['export to .gz', (wanted: number) => run(exportArguments('all.ndjson.gz', wanted), wanted)],
  ])
  console.log(
    '\n| program | round | records/s | of the reference | CPU µs a record | of the reference | CPU ms to start |',
  )
  console.log('|---|--:|--:|--:|--:|--:|--:|')
  for (let round = 1; round <= rounds; round += 1) {
    let reference: { readonly perSecond: number; readonly cpuUs: number } | undefined
    for (const [name, measure] of programs) {
      const idle = await measure(0)
      const whole = await measure(records)
      const perSecond = records / whole.seconds
      const cpuUs = ((whole.cpuSeconds - idle.cpuSeconds) * 1e6) / records
      reference ??= { perSecond, cpuUs }
      console.log(
        `| ${name} | ${round} | ${Math.round(perSecond)} | ${(perSecond / reference.perSecond).toFixed(2)} | ${cpuUs.toFixed(1)} | ${(cpuUs / reference.cpuUs).toFixed(2)} | ${Math.round(idle.cpuSeconds * 1_000)} |`,
      )
    }
  }
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  await kafka.stop()
  await rm(folder, { recursive: true, force: true })
}

function fileOf(name: string): string {
  return path.join(folder, name)
}

/** Returns the arguments of an export. With 0 wanted records, its range starts tomorrow. */
function exportArguments(name: string, wanted: number): readonly string[] {
  const none = wanted === 0 ? ['--from', new Date(Date.now() + 86_400_000).toISOString()] : []
  return [CLI, 'export', ...none, '--out', fileOf(name)]
}

async function run(args: readonly string[], wanted: number): Promise<Run> {
  const before = await readEndedChildrenCpuSeconds()
  const env = { KAFKA_BROKERS: kafka.brokers, NEXTVISIT_DATA: folder, NEXTVISIT_SECRET_KEY: SECRET_KEY }
  const output = await runNode(args, env)
  const [, written = '', seconds = ''] = /Wrote ([\d,]+) .* in ([\d.]+) s\./.exec(output) ?? []
  if (Number(written.replaceAll(',', '')) !== wanted)
    throw new Error(`${args.join(' ')} did not write ${wanted} records:\n${output}`)
  return { seconds: Number(seconds), cpuSeconds: (await readEndedChildrenCpuSeconds()) - before }
}
