import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../stack.ts'
import { CONSUMERS, type CampaignStack, type Consumer } from './campaign-stack.ts'
import { commitsOf, movedSince } from './commits-of.ts'
import type { Fault, Injected } from './fault.ts'
import { type Member, membersOf } from './group-members.ts'

const BACK_WITHIN_MS = 60_000
/** What its owner had under way as the signal came may still be committed, by Postgres alone. */
const UNDER_WAY_MS = 500

/** One of two processes of a consumer that has just gone away, with partitions of its own. */
interface Loss {
  readonly partitions: readonly number[]
  readonly replica: string
  readonly failoverMs: number
  /** Undefined where not all of its partitions were taken over. */
  readonly witness: string | undefined
}

/** Starts a second process beside the first, takes the first one away, and waits until all that it had goes on. */
async function loseOneOfTwo(stack: CampaignStack, consumer: Consumer, signal: 'SIGKILL' | 'SIGSTOP'): Promise<Loss> {
  const until = (isDone: (members: readonly Member[]) => boolean): Promise<readonly Member[]> =>
    eventually(() => membersOf(stack, consumer), isDone, BACK_WITHIN_MS)
  const [alone] = await until(({ length }) => length === 1)
  const { name: replica } = await stack.startReplica(consumer)
  const both = await until(({ length }) => length === 2)
  // What the other was dealt while both were awake says nothing.
  const partitions = both.find(({ memberId }) => memberId === alone?.memberId)?.partitions ?? []
  const lostAt = performance.now()
  stack.kill(consumer, signal)
  await sleep(UNDER_WAY_MS)
  const before = await commitsOf(stack, consumer)
  const moved = await eventually(
    async () => movedSince(before, await commitsOf(stack, consumer), partitions),
    (count) => count === partitions.length,
    BACK_WITHIN_MS,
  )
  const failoverMs = performance.now() - lostAt
  const isTakenOver = moved > 0 && moved === partitions.length
  const witness = isTakenOver ? `${moved} partitions went on in another process` : undefined
  return { partitions, replica, failoverMs, witness }
}

/** A consumer sleeps past its session while another takes its partitions over, and then wakes: a zombie. */
function becomesZombie(consumer: Consumer): Fault['inject'] {
  return async ({ stack }) => {
    const { replica, failoverMs, witness } = await loseOneOfTwo(stack, consumer, 'SIGSTOP')
    return {
      lastsMs: 1_000,
      heal: async () => {
        stack.kill(consumer, 'SIGCONT')
        await sleep(2_000) // it finds out, and tries whatever it does
        await stack.stopReplica(replica)
      },
      witness: async () => witness && `${witness} while their owner slept`,
      measured: () => ({ failoverMs }),
    }
  }
}

/** One of two is gone at once; the other takes over, and a new one comes up in its place. */
function failsOver(consumer: Consumer): Fault['inject'] {
  return async ({ stack }): Promise<Injected> => {
    const { replica, failoverMs, witness } = await loseOneOfTwo(stack, consumer, 'SIGKILL')
    return {
      lastsMs: 0,
      heal: () => stack.stopReplica(replica),
      witness: async () => witness && `${witness} after their owner was killed`,
      measured: () => ({ failoverMs }),
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
      await sleep(1_000) // each folds its share
    }
    for (const members of [2, 4]) {
      const started = Array.from({ length: members - 1 - replicas.length }, () => stack.startReplica(consumer))
      replicas.push(...(await Promise.all(started)).map(({ name }) => name))
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

function forEachConsumer(
  verb: string,
  family: string,
  inject: (consumer: Consumer) => Fault['inject'],
  short: readonly Consumer[] = [],
): Fault[] {
  return CONSUMERS.map((name) => ({
    name: `${verb} ${name}`,
    family,
    isShort: short.includes(name),
    inject: inject(name),
  }))
}

export const consumerFaults: readonly Fault[] = [
  ...forEachConsumer('kill one of two', 'failover', failsOver),
  ...forEachConsumer('zombie', 'zombie', becomesZombie, ['metering']),
  ...forEachConsumer('scale', 'scale', scales),
]
