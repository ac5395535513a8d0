/**
 * `pnpm benchmark`: tracked events per second through the gateway and through two minimal servers with the same broker. All
 * run at once and are loaded in turn. The machine is shared and noisy, so only the ratios within a round are meaningful.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { withLogAdmin } from '@nextvisit/log'
import autocannon from 'autocannon'
import { startThrowAwayStack } from '@nextvisit/testing/black-box'

const ROUNDS = 3
const SECONDS = 6
const CONNECTIONS = 64
const USERS = 1_000
const TOPIC = 'reference-events'
/** Stopped during the measurement, because they share the cores with the gateway and the references have no consumers. */
const CONSUMERS = ['user-projector', 'trait-registry', 'metering', 'form-trigger-evaluator']

interface Program {
  readonly name: string
  readonly url: string
}

const workspace = path.resolve(import.meta.dirname, '../benchmark-workspace.yaml')
const stack = await startThrowAwayStack(workspace)
const { admin } = stack.keys
const userName = (index: number) => `user-${index % USERS}`

try {
  console.log(`Identifying ${USERS} users …`)
  await identifyUsers()
  const programs: Program[] = [
    { name: 'express + kafkajs', url: await startReference('express') },
    { name: 'node:http + kafkajs', url: await startReference('http') },
    { name: 'gateway', url: stack.gatewayUrl },
  ]
  const rounds: Map<string, autocannon.Result>[] = []
  for (const program of programs) await measure(program, 2) // warm
  for (const consumer of CONSUMERS) stack.kill(consumer, 'SIGSTOP')
  for (let round = 1; round <= ROUNDS; round++) {
    const results = new Map<string, autocannon.Result>()
    for (const program of programs) {
      console.log(`Round ${round} of ${ROUNDS}: ${program.name} …`)
      results.set(program.name, await measure(program, SECONDS))
    }
    rounds.push(results)
  }
  for (const consumer of CONSUMERS) stack.kill(consumer, 'SIGCONT')
  printTable(programs, rounds)
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  await stack.remove()
  process.exit()
}

async function startReference(kind: 'express' | 'http'): Promise<string> {
  await withLogAdmin({ brokers: stack.brokers, clientId: 'benchmark' }, (log) =>
    log.createTopic(TOPIC, { partitions: 12 }),
  )
  const child = fork(path.join(import.meta.dirname, 'reference-server.ts'), {
    env: {
      PATH: path.dirname(process.execPath),
      REFERENCE_KIND: kind,
      REFERENCE_TOPIC: TOPIC,
      REFERENCE_KEY: admin,
      KAFKA_BROKERS: stack.brokers.join(','),
    },
  })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return `http://127.0.0.1:${port}`
}

async function identifyUsers(): Promise<void> {
  for (let from = 0; from < USERS; from += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, index) => identify(userName(from + index))))
  }
}

async function identify(name: string): Promise<void> {
  const response = await fetch(`${stack.gatewayUrl}/v2/admin/identify-user`, {
    method: 'POST',
    headers: { 'x-api-key': admin, 'content-type': 'application/json' },
    body: JSON.stringify({ userName: name, userAttributes: { $set: { plan: 'free' } } }),
  })
  if (!response.ok) throw new Error(`identify answered ${response.status}`)
}

/** The steady state: a known event of known users, to which no form reacts. */
function measure({ url }: Program, seconds: number): Promise<autocannon.Result> {
  const requests = Array.from({ length: USERS }, (_, index) => ({
    method: 'POST' as const,
    path: '/v2/admin/track-event',
    headers: { 'x-api-key': admin, 'content-type': 'application/json' },
    body: JSON.stringify({ userName: userName(index), eventName: 'Page Viewed', note: 'x'.repeat(200) }),
  }))
  return autocannon({ url, connections: CONNECTIONS, duration: seconds, requests })
}

function printTable(programs: readonly Program[], rounds: readonly ReadonlyMap<string, autocannon.Result>[]): void {
  const [base = ''] = programs.map(({ name }) => name)
  console.log(`\n| program | requests/s by round | ratio to ${base} | p50 / p99 ms | not 2xx |\n|---|---|---|---|---|`)
  for (const { name } of programs) {
    const ratios = rounds
      .map((round) => perSecond(round, name) / perSecond(round, base))
      .toSorted((one, other) => one - other)
    const last = rounds.at(-1)?.get(name)
    const refused = rounds.reduce(
      (sum, round) => sum + (round.get(name)?.non2xx ?? 0) + (round.get(name)?.errors ?? 0),
      0,
    )
    const perRound = rounds.map((round) => Math.round(perSecond(round, name))).join(' ')
    const median = ratios[Math.floor(ratios.length / 2)] ?? 0
    console.log(
      `| ${name} | ${perRound} | ${median.toFixed(2)} | ${last?.latency.p50} / ${last?.latency.p99} | ${refused} |`,
    )
  }
}

function perSecond(round: ReadonlyMap<string, autocannon.Result>, program: string): number {
  return round.get(program)?.requests.average ?? 0
}
