/**
 * `pnpm benchmark:handover [consumer]`: measures how long the partitions of a consumer's process have no owner after SIGTERM, with
 * the settings of production: from the signal until another process folds them. Compares with a process that is killed.
 */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually, startThrowAwayStack } from '@nextvisit/testing/black-box'

const ROUNDS = 10
const KILLED_ROUNDS = 2
const PARTITIONS = 12
const WITHIN_MS = 60_000
/** Longest pause between two heartbeats of a member. */
const LONGEST_PAUSE_MS = 2_250
const [consumer = 'metering'] = process.argv.slice(2)

const stack = await startThrowAwayStack({ isCheap: true })

try {
  const terminated = await measure('SIGTERM', ROUNDS)
  const killed = await measure('SIGKILL', KILLED_ROUNDS)
  console.log(`\nTime without an owner for half of the partitions of ${consumer}, ms:\n`)
  console.log('| signal | rounds | min | median | max |\n|---|--:|--:|--:|--:|')
  for (const [signal, took] of [['SIGTERM', terminated] as const, ['SIGKILL', killed] as const]) {
    const sorted = took.toSorted((one, other) => one - other)
    console.log(`| ${signal} | ${took.length} | ${sorted[0]} | ${sorted[took.length >> 1]} | ${sorted.at(-1)} |`)
  }
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  await stack.remove()
  process.exit()
}

/** Starts a second process, ends it, and waits until the first one has all partitions. Returns the waits in ms. */
async function measure(signal: 'SIGTERM' | 'SIGKILL', rounds: number): Promise<readonly number[]> {
  const took: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const { name } = await stack.startReplica(consumer)
    await untilFolding(PARTITIONS / 2, Date.now() - WITHIN_MS)
    // The first process notices at its next heartbeat, and the last one was a moment ago.
    await sleep(Math.random() * LONGEST_PAUSE_MS)
    const signalledAt = Date.now()
    const pid = stack.processes().get(name)?.pid
    if (pid === undefined) throw new Error(`${name} does not run`)
    process.kill(pid, signal)
    const stopped = stack.stopReplica(name)
    took.push((await untilFolding(PARTITIONS, signalledAt)) - signalledAt)
    await stopped
  }
  return took
}

/** Waits until the first process says that it folds so many partitions, as its last assignment. Returns when it began. */
async function untilFolding(partitions: number, sinceMs: number): Promise<number> {
  const last = async (): Promise<{ readonly count: number; readonly atMs: number }> => {
    const log = await readFile(path.join(stack.dataDirectory, 'logs', `${consumer}.log`), 'utf8')
    const [line] = log
      .trimEnd()
      .split('\n')
      .filter((one) => one.includes('Folding '))
      .slice(-1)
    const { msg = '', time = 0 } = JSON.parse(line ?? '{}') as {
      readonly msg?: string
      readonly time?: number | string
    }
    return { count: Number(/\d+/.exec(msg)?.[0]), atMs: new Date(time).getTime() }
  }
  const found = await eventually(last, ({ count, atMs }) => count === partitions && atMs >= sinceMs, WITHIN_MS, 50)
  if (found.count !== partitions) throw new Error(`${consumer} does not fold ${partitions} partitions`)
  return found.atMs
}
