import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLogAdmin } from '@nextvisit/log'
import { eventually } from '../stack.ts'
import { CONSUMERS, type CampaignStack, type Consumer } from './campaign-stack.ts'
import { type Fault, type Injected, nothingToHeal, type Stage } from './fault.ts'
import { queryRows } from './query-rows.ts'

const PARTS = ['gateway', ...CONSUMERS, 'kafka', 'postgres', 'redis'] as const
type PartName = (typeof PARTS)[number]

const BACK_WITHIN_MS = 60_000
/** Longer than a consumer's session of 10 s: its partitions go to another meanwhile. */
const LONGER_THAN_A_SESSION_MS = 13_000
const FREEZE_MS = 4_000

const pidOf = (stack: CampaignStack, name: string): number | undefined => stack.processes().get(name)?.pid

/** Ends a process with a signal; another comes up in its place. */
function ends(name: PartName, signal: 'SIGKILL' | 'SIGTERM'): (stage: Stage) => Promise<Injected> {
  return async ({ stack }: Stage) => {
    const before = pidOf(stack, name)
    stack.kill(name, signal)
    return {
      lastsMs: 0,
      heal: nothingToHeal,
      witness: async () => {
        const isNew = (pid: number | undefined): boolean => pid !== undefined && pid !== before
        const after = await eventually(async () => pidOf(stack, name), isNew, BACK_WITHIN_MS)
        return isNew(after) ? `process ${before} became ${after}` : undefined
      },
    }
  }
}

/** Postgres serves each connection by a process of its own. */
async function withChildren(pid: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=', '-o', 'ppid='])
  const lines = stdout.trim().split('\n')
  const children = lines.map((line) => line.trim().split(/\s+/).map(Number)).filter(([, parent]) => parent === pid)
  return [pid, ...children.flatMap(([child]) => child ?? [])]
}

async function stateOf(pid: number): Promise<string> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'state=', '-p', String(pid)])
  return stdout.trim()
}

function send(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // It has ended by itself.
    }
  }
}

/** Freezes a part, and thaws it. */
function freezes(name: PartName, lastsMs: number): Fault['inject'] {
  return async ({ stack }) => {
    const pid = pidOf(stack, name)
    if (pid === undefined) throw new Error(`${name} does not run`)
    const pids = await withChildren(pid)
    send(pids, 'SIGSTOP')
    const state = await stateOf(pid)
    return {
      lastsMs,
      heal: async () => send(pids, 'SIGCONT'),
      witness: async () => (state.startsWith('T') ? `${pids.length} processes stopped for ${lastsMs} ms` : undefined),
    }
  }
}

/** Raised by every commit of a consumer, whoever made it. */
async function commitsOf(stack: CampaignStack, consumer: Consumer): Promise<number> {
  const [row] = await queryRows<{ sum: string }>(stack, consumer, 'SELECT sum(version) FROM checkpoints')
  return Number(row?.sum)
}

/** A consumer sleeps past its session while another takes its partitions over, and then wakes: a zombie. */
function becomesZombie(consumer: Consumer): Fault['inject'] {
  return async ({ stack }) => {
    const other = await stack.startReplica(consumer)
    await sleep(2_000) // a part of the partitions is its own now
    stack.kill(consumer, 'SIGSTOP')
    await sleep(LONGER_THAN_A_SESSION_MS)
    // By now whoever moves checkpoints is the other.
    const before = await commitsOf(stack, consumer)
    let taken = 0
    return {
      lastsMs: 3_000,
      heal: async () => {
        taken = (await commitsOf(stack, consumer)) - before
        stack.kill(consumer, 'SIGCONT')
        await sleep(2_000)
        await stack.stopReplica(other.name)
      },
      witness: async () => (taken > 0 ? `${taken} commits by another while it slept` : undefined),
    }
  }
}

async function membersOf({ brokers }: CampaignStack, consumer: Consumer): Promise<number> {
  const admin = createLogAdmin({ brokers, clientId: 'faults' })
  await admin.connect()
  try {
    const { state, members } = await admin.describeGroup(`nextvisit.${consumer}`)
    return state === 'Stable' ? members.length : 0
  } finally {
    await admin.disconnect()
  }
}

/** Two, then four processes of a consumer share the partitions, and then one has them all again. */
function scales(consumer: Consumer): Fault['inject'] {
  return async ({ stack }) => {
    const replicas: string[] = []
    const shared: number[] = []
    const until = async (members: number): Promise<void> => {
      shared.push(
        await eventually(
          () => membersOf(stack, consumer),
          (count) => count === members,
          BACK_WITHIN_MS,
        ),
      )
      await sleep(2_000) // each folds its share
    }
    for (const members of [2, 4]) {
      while (replicas.length + 1 < members) replicas.push((await stack.startReplica(consumer)).name)
      await until(members)
    }
    return {
      lastsMs: 0,
      heal: async () => {
        await Promise.all(replicas.map(stack.stopReplica))
        await until(1)
      },
      witness: async () =>
        shared.join() === '2,4,1' ? 'two, then four processes shared the partitions, then one' : undefined,
    }
  }
}

const named = (
  verb: string,
  names: readonly PartName[],
  short: readonly PartName[],
  how: (name: PartName) => Fault['inject'],
) => names.map((name): Fault => ({ name: `${verb} ${name}`, isShort: short.includes(name), inject: how(name) }))

/** One after the other, each once the one before is back. */
const rollingRestart: Fault = {
  name: 'rolling restart',
  inject: async (stage) => {
    const services = ['gateway', ...CONSUMERS] as const
    const witnesses: (string | undefined)[] = []
    for (const name of services) {
      const { witness } = await ends(name, 'SIGTERM')(stage)
      witnesses.push(await witness())
    }
    return {
      lastsMs: 0,
      heal: nothingToHeal,
      witness: async () => (witnesses.every(Boolean) ? `${services.length} processes are new` : undefined),
    }
  },
}

export const processFaults: readonly Fault[] = [
  ...named('kill', PARTS, ['gateway', 'form-trigger-evaluator', 'kafka', 'postgres'], (name) => ends(name, 'SIGKILL')),
  ...named('terminate', ['gateway', ...CONSUMERS], [], (name) => ends(name, 'SIGTERM')),
  ...named('freeze', ['gateway', 'kafka', 'postgres', 'redis'], [], (name) => freezes(name, FREEZE_MS)),
  ...CONSUMERS.map(
    (name): Fault => ({ name: `zombie ${name}`, isShort: name === 'metering', inject: becomesZombie(name) }),
  ),
  ...CONSUMERS.map(
    (name): Fault => ({ name: `scale ${name}`, isShort: name === 'user-projector', inject: scales(name) }),
  ),
  rollingRestart,
]
