import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '@nextvisit/testing/black-box'
import { type CampaignStack, FOLDING_CONSUMERS, type FoldingConsumer } from './campaign-stack.ts'
import { commitsOf, movedSince } from './commits-of.ts'
import type { Fault } from './fault.ts'
import { type GroupMember, membersOf } from './group-members.ts'
import { isRefused } from './judge-calls.ts'

const BACK_WITHIN_MS = 60_000
/** Each question opens a connection, for each of six consumers at once. More would take the CPU from the consumers. */
const ASK_EVERY_MS = 500
/** Postgres may still finish a commit that the owner sent before the signal. */
const COMMIT_IN_FLIGHT_MS = 500

/** The loss of the first of two processes of a consumer. */
interface Loss {
  readonly consumer: FoldingConsumer
  readonly replica: string
  /** The number of partitions that the other process took over; undefined if it did not take over all of them. */
  readonly takenOver: number | undefined
  readonly failoverMs: number
}

/** Starts a second process, stops the first one, and waits until the second has committed on all its partitions. */
async function loseOneOfTwo(
  stack: CampaignStack,
  consumer: FoldingConsumer,
  signal: 'SIGKILL' | 'SIGSTOP',
): Promise<Loss> {
  const until = (members: number): Promise<readonly GroupMember[]> =>
    eventually(
      () => membersOf(stack, consumer),
      ({ length }) => length === members,
      BACK_WITHIN_MS,
      ASK_EVERY_MS,
    )
  const [alone] = await until(1)
  const { name: replica } = await stack.startReplica(consumer)
  // Only the first process' partitions count, because the replica already had its own.
  const partitions = (await until(2)).find(({ memberId }) => memberId === alone?.memberId)?.partitions ?? []
  const lostAt = performance.now()
  stack.kill(consumer, signal)
  await sleep(COMMIT_IN_FLIGHT_MS)
  const before = await commitsOf(stack, consumer)
  const moved = await eventually(
    async () => movedSince(before, await commitsOf(stack, consumer), partitions),
    (count) => count === partitions.length,
    BACK_WITHIN_MS,
    ASK_EVERY_MS,
  )
  const takenOver = moved > 0 && moved === partitions.length ? moved : undefined
  return { consumer, replica, takenOver, failoverMs: performance.now() - lostAt }
}

/** Runs all of them at once: each waits for the end of a session, and they share nothing except the log. */
async function loseOneOfTwoEach(
  stack: CampaignStack,
  signal: 'SIGKILL' | 'SIGSTOP',
  consumers: readonly FoldingConsumer[] = FOLDING_CONSUMERS,
) {
  const losses = await Promise.all(consumers.map((consumer) => loseOneOfTwo(stack, consumer, signal)))
  const all = losses.map(
    ({ consumer, takenOver, failoverMs }) => `${takenOver} of ${consumer} in ${(failoverMs / 1_000).toFixed(1)} s`,
  )
  return {
    stopReplicas: async () => void (await Promise.all(losses.map(({ replica }) => stack.stopReplica(replica)))),
    witness: losses.every(({ takenOver }) => takenOver !== undefined)
      ? `partitions that another took over: ${all.join(', ')}`
      : undefined,
    measured: () => ({ failoverMs: Math.max(...losses.map(({ failoverMs }) => failoverMs)) }),
  }
}

/** Stops each consumer longer than its session, waits until another process has its partitions, and continues it. */
const becomeZombies: Fault['inject'] = async ({ stack }) => {
  const { stopReplicas, witness, measured } = await loseOneOfTwoEach(stack, 'SIGSTOP')
  return {
    lastsMs: 1_000,
    heal: async () => {
      for (const consumer of FOLDING_CONSUMERS) stack.kill(consumer, 'SIGCONT')
      await sleep(2_000) // the zombies try to continue and notice the takeover
      await stopReplicas()
    },
    witness: async () => witness,
    measured,
  }
}

/** Kills one of two processes. The other takes over, and a new process replaces the killed one. */
export function failsOver(consumers: readonly FoldingConsumer[]): Fault['inject'] {
  return async ({ stack }) => {
    const { stopReplicas, witness, measured } = await loseOneOfTwoEach(stack, 'SIGKILL', consumers)
    return { lastsMs: 0, heal: stopReplicas, witness: async () => witness, measured }
  }
}

/** Only a machine without room answers later than this. */
const LATE_AFTER_MS = 1_000

/** Scales one consumer to three processes, then back to one. */
const scale: Fault['inject'] = async ({ stack, random, client }) => {
  const callsBefore = client.calls().length
  const consumer = random.oneOf(FOLDING_CONSUMERS)
  const replicas = [await stack.startReplica(consumer), await stack.startReplica(consumer)]
  const shared: number[] = []
  const until = async (members: number): Promise<void> => {
    shared.push(
      await eventually(
        async () => (await membersOf(stack, consumer)).length,
        (count) => count === members,
        BACK_WITHIN_MS,
      ),
    )
    await sleep(2_000) // each process folds its share
  }
  await until(1 + replicas.length)
  return {
    lastsMs: 0,
    heal: async () => {
      await Promise.all(replicas.map(({ name }) => stack.stopReplica(name)))
      await until(1)
    },
    witness: async () => (shared.join() === '3,1' ? `three ${consumer}s shared the partitions, then one` : undefined),
    wrong: async () => {
      const refused = client
        .calls()
        .slice(callsBefore)
        .filter((call) => isRefused(call) && call.elapsedMs < LATE_AFTER_MS)
      const examples = refused
        .slice(0, 5)
        .map(({ status, requestId = '' }) => ({ about: requestId, says: `answered ${status}` }))
      return refused.length === 0 ? [] : [{ kind: 'refused while scaled', count: refused.length, examples }]
    },
  }
}

export const consumerFaults: readonly Fault[] = [
  { name: 'kill one of two of each consumer', family: 'failover', inject: failsOver(FOLDING_CONSUMERS) },
  { name: 'a zombie of each consumer', family: 'zombie', isShort: true, inject: becomeZombies },
  { name: 'scale a consumer', family: 'scale', isShort: true, inject: scale },
]
