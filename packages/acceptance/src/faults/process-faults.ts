import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../stack.ts'
import { CONSUMERS, type CampaignStack, type Consumer } from './campaign-stack.ts'
import { type Fault, type Injected, nothingToHeal, type Stage } from './fault.ts'
import { type Member, membersOf } from './group-members.ts'
import { USER_EVENTS } from './kafka-of.ts'
import { queryRows } from './query-rows.ts'

const PARTS = ['gateway', ...CONSUMERS, 'kafka', 'postgres', 'redis'] as const
type PartName = (typeof PARTS)[number]

const BACK_WITHIN_MS = 60_000
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

/** Raised by every commit of these partitions, whoever made it. */
async function commitsOf(stack: CampaignStack, consumer: Consumer, partitions: readonly number[]): Promise<number> {
  const [row] = await queryRows<{ sum: string }>(
    stack,
    consumer,
    `SELECT coalesce(sum(version), 0) AS sum FROM checkpoints
     WHERE topic = '${USER_EVENTS}' AND partition = ANY('{${partitions.join()}}'::int[])`,
  )
  return Number(row?.sum)
}

/** A consumer sleeps past its session while another takes its partitions over, and then wakes: a zombie. */
function becomesZombie(consumer: Consumer): Fault['inject'] {
  return async ({ stack }) => {
    const until = (isDone: (members: readonly Member[]) => boolean): Promise<readonly Member[]> =>
      eventually(() => membersOf(stack, consumer), isDone, BACK_WITHIN_MS)
    const [alone] = await until(({ length }) => length === 1)
    const other = await stack.startReplica(consumer)
    const sleeper = (await until(({ length }) => length === 2)).find(({ memberId }) => memberId === alone?.memberId)
    // What the other was dealt while both were awake says nothing.
    const partitions = sleeper?.partitions ?? []
    stack.kill(consumer, 'SIGSTOP')
    await until(([one, ...more]) => one !== undefined && more.length === 0 && one.memberId !== sleeper?.memberId)
    const before = await commitsOf(stack, consumer, partitions)
    let taken = 0
    return {
      lastsMs: 3_000,
      heal: async () => {
        try {
          taken = (await commitsOf(stack, consumer, partitions)) - before
        } finally {
          stack.kill(consumer, 'SIGCONT')
        }
        await sleep(2_000)
        await stack.stopReplica(other.name)
      },
      witness: async () =>
        taken > 0 ? `${taken} commits by another of ${partitions.length} partitions whose owner slept` : undefined,
    }
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
          async () => (await membersOf(stack, consumer)).length,
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
  ...CONSUMERS.map((name): Fault => ({ name: `scale ${name}`, inject: scales(name) })),
  rollingRestart,
]
