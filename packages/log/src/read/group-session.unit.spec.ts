import { stat } from 'node:fs/promises'
import type { ConnectedBroker } from 'kafkajs/src/cluster/index.js'
import type ConsumerGroup from 'kafkajs/src/consumer/consumerGroup.js'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createGroupSession } from './group-session.ts'

const options = {
  groupId: 'any',
  topics: ['any'],
  sessionTimeoutMs: 60,
  heartbeatIntervalMs: 5,
  rebalanceTimeoutMs: 5_000,
}

/** Joins a group whose coordinator the spec controls. */
async function givenSession({ heartbeat, join }: { heartbeat: () => Promise<void>; join?: () => Promise<void> }) {
  const stopping = new AbortController()
  onTestFinished(() => stopping.abort())
  const destroy = vi.fn<() => void>()
  const onAssigned = vi.fn<() => void>()
  const onFailed = vi.fn<() => void>()
  const group: Partial<ConsumerGroup> = {
    coordinator: { connectionPool: { pool: [{ socket: { destroy } }] } } as unknown as ConnectedBroker,
    joinAndSync: join ?? (async () => {}),
    assigned: () => [],
    heartbeat,
    checkForStaleAssignment: () => {},
  }
  const cluster = { createGroup: () => group as ConsumerGroup, refreshMetadataIfOld: async () => {} }
  const handlers = { onAssigned, onRebalance: async () => {}, onFailed }
  const session = createGroupSession(cluster, options, handlers, stopping.signal)
  await session.join()
  return { session, destroy, onAssigned, onFailed }
}

/** Like the data of a socket, the answer is read after the timers that are due. */
function blockUntilAnswered(resolve: () => void): void {
  stat(import.meta.dirname).then(resolve, resolve)
  for (const untilMs = performance.now() + 50; performance.now() < untilMs; );
}

it('a session keeps its connection if the event loop was blocked while the coordinator answered', async () => {
  let heartbeats = 0
  const { destroy } = await givenSession({
    heartbeat: () => {
      heartbeats += 1
      return new Promise((resolve) => setImmediate(() => blockUntilAnswered(resolve)))
    },
  })
  await vi.waitFor(() => expect(heartbeats).toBeGreaterThan(1))
  expect(destroy).not.toHaveBeenCalled()
})

it('a session does not end while it waits for the other members of a rebalance', async () => {
  let joins = 0
  let isRebalancing = true
  const { onAssigned, onFailed } = await givenSession({
    heartbeat: async () => {
      if (isRebalancing) throw Object.assign(new Error('rebalance'), { type: 'REBALANCE_IN_PROGRESS', retriable: true })
    },
    join: async () => {
      joins += 1
      if (joins === 1) return
      await new Promise((resolve) => setTimeout(resolve, 2 * options.sessionTimeoutMs))
      if (joins === 2) throw Object.assign(new Error('no answer'), { retriable: true })
      isRebalancing = false
    },
  })
  await vi.waitFor(() => expect(onAssigned).toHaveBeenCalledTimes(2))
  expect(onFailed).not.toHaveBeenCalled()
})

it('a session is not held after a pause of the process, until the coordinator answers again', async () => {
  const asked: (() => void)[] = []
  const { session } = await givenSession({ heartbeat: () => new Promise((resolve) => asked.push(resolve)) })
  expect(session.isHeld()).toBe(true)
  await vi.waitFor(() => expect(asked).toHaveLength(1))
  const nowMs = performance.now()
  const clock = vi.spyOn(performance, 'now').mockReturnValue(nowMs + options.sessionTimeoutMs)
  onTestFinished(() => clock.mockRestore())
  expect(session.isHeld()).toBe(false)
  asked[0]?.()
  // This answer is to a question of before the pause.
  await vi.waitFor(() => expect(asked).toHaveLength(2))
  expect(session.isHeld()).toBe(false)
  asked[1]?.()
  await vi.waitFor(() => expect(session.isHeld()).toBe(true))
})
