import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { silentLogger } from '../connect/kafka-client.ts'
import type { FetchedPartition } from '../wire/fetch-message.ts'
import { givenFetched } from '../../test/read-fetched.ts'
import { createAssignedPartitions } from './assigned-partitions.ts'
import { startReadLoop } from './read-loop.ts'
import type { FetchedBatch } from './fetched-batch.ts'
import type { ContinueAt } from './group-reader-options.ts'

const topic = 'any'
const LONG_MS = 2_000
const NOT_LEADER = 6
const OUT_OF_RANGE = 1
const FORBIDDEN = 29

/** A fetch in flight to a broker. */
interface Fetch {
  readonly broker: number
  readonly partitions: readonly number[]
  readonly offsets: readonly bigint[]
  readonly maxWaitMs: number
  readonly answer: (fetched: readonly FetchedPartition[]) => void
  readonly fail: (error: Error) => void
}

interface Settings {
  /** Leader of each partition. */
  readonly leaders: number[]
  readonly mayFetch?: (last: readonly FetchedBatch[]) => Promise<void>
  readonly refreshMetadata?: () => Promise<void>
  readonly rereadAfterMs?: number
}

/** Starts a loop whose broker responses and handlers the spec controls. */
function givenLoop({ leaders, mayFetch = async () => {}, refreshMetadata = async () => {}, ...settings }: Settings) {
  const stopping = new AbortController()
  onTestFinished(() => stopping.abort())
  const fetches: Fetch[] = []
  const handling = new Map<number, (continueAt?: ContinueAt) => void>()
  const unreadable: Error[] = []
  const failed: Error[] = []
  const partitions = createAssignedPartitions({
    positions: leaders.map((_, partition) => ({ topic, partition, offset: 0n })),
    bounds: { maxRecords: 10, maxBytes: 1_000 },
    withStandIns: false,
    latestBatches: new Map(),
    inFlight: new Set(),
    onBatch: ({ partition }) => new Promise((resolve) => handling.set(partition, resolve)),
    onHandled: ({ partition }) => void handling.delete(partition),
    onUnreadable: (_topic, _partition, error) => void unreadable.push(error),
    onThrow: (error) => void failed.push(error),
    signal: stopping.signal,
    ...settings,
  })
  startReadLoop(
    {
      ...partitions,
      byLeader: (positions) => Map.groupBy(positions, ({ partition }) => leaders[partition] ?? -1),
      fetch: (broker, positions, maxWaitMs) => {
        const { promise, resolve, reject } = Promise.withResolvers<readonly FetchedPartition[]>()
        const asked = positions.map(({ partition }) => partition)
        const offsets = positions.map(({ offset }) => offset)
        fetches.push({ broker, partitions: asked, offsets, maxWaitMs, answer: resolve, fail: reject })
        return promise
      },
      mayFetch,
      refreshMetadata,
      onFailed: (error) => void failed.push(error),
      maxWaitMs: LONG_MS,
      logger: silentLogger,
    },
    stopping.signal,
  )
  const last = (broker = 1): Fetch => fetches.findLast((one) => one.broker === broker)!
  return {
    fetches,
    /** Answers fetches of broker 1 until it is asked for this partition. */
    fetchOf: (partition: number) =>
      expect
        .poll(() => {
          if (!last().partitions.includes(partition)) last().answer([])
          return last().partitions
        })
        .toContain(partition),
    handling: () => [...handling.keys()].toSorted((a, b) => a - b),
    end: (partition: number, continueAt?: ContinueAt) => handling.get(partition)?.(continueAt),
    stop: () => stopping.abort(),
    unreadable,
    failed,
    /** The latest fetch of a broker. */
    last,
  }
}

/** One record at this offset, or an error. */
function fetched(partition: number, offset: bigint, errorCode = 0): FetchedPartition {
  const at = { topic, partition, errorCode, highWatermark: offset + 1n, fetchedFrom: offset }
  if (errorCode !== 0) return { ...at, nextOffset: offset, batches: [] }
  const record = { offsetDelta: 0, timestampDelta: 0n, key: null, value: null, headers: [] }
  const { batches, nextOffset } = givenFetched([{ firstOffset: offset, firstTimestamp: 0n, records: [record] }], offset)
  return { ...at, nextOffset, batches }
}

const nothing = (partition: number, offset = 0n): FetchedPartition => ({
  ...fetched(partition, offset, 0),
  nextOffset: offset,
  batches: [],
})

it('a fetch covers every idle partition, and partitions with records get a batch', async () => {
  const { fetches, handling, end, last } = givenLoop({ leaders: [1, 1, 1] })
  expect(fetches).toMatchObject([{ partitions: [0, 1, 2], maxWaitMs: LONG_MS }])
  last().answer([fetched(0, 0n), nothing(1), fetched(2, 0n)])
  await expect.poll(handling).toEqual([0, 2])
  expect(fetches).toHaveLength(1)
  end(0)
  end(2)
  await expect.poll(() => fetches).toHaveLength(2)
  // Those that were served last come last.
  expect(last()).toMatchObject({ partitions: [1, 0, 2], maxWaitMs: LONG_MS })
})

it('a partition with a slow batch is not fetched until it is idle, while the others are read', async () => {
  const { fetches, handling, end, last } = givenLoop({ leaders: [1, 1] })
  last().answer([fetched(0, 0n)])
  await expect.poll(() => fetches).toHaveLength(2)
  expect(last()).toMatchObject({ partitions: [1], maxWaitMs: 100 })
  last().answer([fetched(1, 0n)])
  await expect.poll(handling).toEqual([0, 1])
  await sleep(600) // longer than it waits for batches
  expect(fetches).toHaveLength(2)
  end(0)
  await expect.poll(() => fetches).toHaveLength(3)
  expect(last()).toMatchObject({ partitions: [0], maxWaitMs: 100 })
})

it('a loop that stops while leaders change starts no more fetches', async () => {
  const leaders = [1, 2]
  const refreshed = Promise.withResolvers<void>()
  const refreshMetadata = async (): Promise<void> => {
    leaders[1] = 1
    refreshed.resolve()
    await setImmediate()
  }
  const { fetches, stop, last, failed } = givenLoop({ leaders, refreshMetadata })
  last(2).answer([fetched(1, 0n, NOT_LEADER)])
  await refreshed.promise
  stop()
  last(1).answer([])
  await sleep(20)
  expect(fetches).toHaveLength(2)
  expect(failed).toEqual([])
})

it('brokers are read independently of each other', async () => {
  const { fetches, handling, end, last } = givenLoop({ leaders: [1, 2] })
  expect(fetches).toMatchObject([
    { broker: 1, partitions: [0] },
    { broker: 2, partitions: [1] },
  ])
  last(2).answer([fetched(1, 0n)])
  await expect.poll(handling).toEqual([1])
  end(1)
  await expect.poll(() => fetches).toHaveLength(3)
  expect(last(2)).toMatchObject({ partitions: [1], maxWaitMs: LONG_MS })
})

it('a partition is read from its new leader, and the others stay with theirs', async () => {
  const leaders = [1, 1]
  const refreshMetadata = async () => void (leaders[1] = 2)
  const { handling, end, last, fetches } = givenLoop({ leaders, refreshMetadata })
  last().answer([fetched(0, 0n), fetched(1, 0n, NOT_LEADER)])
  await expect.poll(handling).toEqual([0])
  end(0)
  await expect.poll(() => fetches).toHaveLength(3)
  expect(fetches.slice(1).toSorted((one, other) => one.broker - other.broker)).toMatchObject([
    { broker: 1, partitions: [0] },
    { broker: 2, partitions: [1] },
  ])
})

it('a partition that is fetched from two leaders at once is handled once', async () => {
  const leaders = [1, 2]
  const { fetches, handling, end, last } = givenLoop({ leaders })
  leaders[1] = 1
  last(1).answer([fetched(0, 0n)])
  await expect.poll(handling).toEqual([0])
  end(0)
  await expect.poll(() => fetches).toHaveLength(3)
  last(1).answer([fetched(1, 0n)])
  await expect.poll(handling).toEqual([1])
  end(1)
  await expect.poll(() => fetches).toHaveLength(4)
  last(2).answer([fetched(1, 0n)])
  await sleep(20)
  expect(handling()).toEqual([])
})

it('the next fetch waits for mayFetch', async () => {
  const may = Promise.withResolvers<void>()
  const asked: (readonly FetchedBatch[])[] = []
  const mayFetch = (batches: readonly FetchedBatch[]): Promise<void> => {
    asked.push(batches)
    return may.promise
  }
  const { fetches, handling, end, last } = givenLoop({ leaders: [1], mayFetch })
  last().answer([fetched(0, 0n)])
  await expect.poll(handling).toEqual([0])
  expect(asked).toEqual([])
  end(0)
  await expect.poll(() => asked).toMatchObject([[{ partition: 0, nextOffset: 1n }]])
  await sleep(20)
  expect(fetches).toHaveLength(1)
  may.resolve()
  await expect.poll(() => fetches).toHaveLength(2)
})

it.each([
  ['an unknown error', -1],
  ['damaged records', 2],
  ['a failed disk', 56],
])('a partition that its broker refuses because of %s delays no other partition', async (_, errorCode) => {
  const { fetches, handling, end, failed, last, fetchOf } = givenLoop({ leaders: [1, 1] })
  last().answer([fetched(0, 0n, errorCode), nothing(1)])
  await expect.poll(() => fetches).toHaveLength(2)
  expect(last()).toMatchObject({ partitions: [1], maxWaitMs: LONG_MS })
  await fetchOf(0)
  last().answer([fetched(0, 0n)])
  await expect.poll(handling).toEqual([0])
  end(0)
  expect(failed).toEqual([])
})

it('partitions that are refused together share a refresh of the leaders', async () => {
  const refreshes: PromiseWithResolvers<void>[] = []
  const refreshMetadata = () => {
    const refresh = Promise.withResolvers<void>()
    refreshes.push(refresh)
    return refresh.promise
  }
  const partitions = Array.from({ length: 48 }, (_, partition) => partition)
  const { fetches, failed, last } = givenLoop({ leaders: partitions.map(() => 1), refreshMetadata })
  last().answer(partitions.map((partition) => fetched(partition, 0n, NOT_LEADER)))
  // By then each has backed off, and asked for a refresh.
  await expect.poll(() => refreshes).toHaveLength(1)
  await sleep(200)
  expect(refreshes).toHaveLength(1)
  refreshes[0]?.resolve()
  await expect.poll(() => fetches).toHaveLength(2)
  expect(last().partitions.toSorted((a, b) => a - b)).toEqual(partitions)
  // A later refusal needs a refresh of its own.
  last().answer([fetched(7, 0n, NOT_LEADER)])
  await expect.poll(() => refreshes).toHaveLength(2)
  expect(failed).toEqual([])
})

it('a partition whose position is outside the log becomes unreadable after a few attempts', async () => {
  const { unreadable, last, fetchOf } = givenLoop({ leaders: [1, 1] })
  for (let attempt = 1; attempt <= 4; attempt += 1) {
    await fetchOf(0)
    expect(unreadable).toEqual([])
    last().answer([fetched(0, 0n, OUT_OF_RANGE)])
    await expect.poll(() => last()).toMatchObject({ partitions: [1], maxWaitMs: LONG_MS })
  }
  expect(unreadable).toMatchObject([{ code: 'POSITION_OUTSIDE_LOG' }])
})

it('a batch that cannot be decoded is read again after a while, and delays no other partition', async () => {
  let refreshes = 0
  const refreshMetadata = async () => void (refreshes += 1)
  const { fetches, handling, end, unreadable, failed, last, fetchOf } = givenLoop({
    leaders: [1, 1],
    rereadAfterMs: 200,
    refreshMetadata,
  })
  const damaged = (offset: bigint) => ({ ...nothing(0, offset), damage: new RangeError('a batch has 3 bytes') })
  last().answer([{ ...fetched(0, 0n), damage: damaged(1n).damage }, nothing(1)])
  await expect.poll(handling).toEqual([0])
  end(0)
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    await expect.poll(() => unreadable).toHaveLength(attempt)
    expect(unreadable.at(-1)).toMatchObject({ code: 'BATCH_UNDECODABLE' })
    last().answer([])
    await expect.poll(() => last()).toMatchObject({ partitions: [1], maxWaitMs: LONG_MS })
    await fetchOf(0)
    // Another replica may be the leader.
    expect(refreshes).toBe(attempt)
    expect(last().offsets[last().partitions.indexOf(0)]).toBe(1n)
    last().answer([attempt < 3 ? damaged(1n) : fetched(0, 1n)])
  }
  await expect.poll(handling).toEqual([0])
  end(0)
  await expect.poll(() => fetches.at(-1)?.offsets).toContain(2n)
  expect({ reported: unreadable.length, failed }).toEqual({ reported: 3, failed: [] })
})

it('a partition is read again from the offset at which its handler continues, and the rest of the fetch is dropped', async () => {
  const { fetches, handling, end, last } = givenLoop({ leaders: [1] })
  // Each is a batch of its own for the handler.
  const records = Array.from({ length: 10 }, (_, offsetDelta) => {
    return { offsetDelta, timestampDelta: 0n, key: null, value: null, headers: [] }
  })
  const log = [0n, 10n].map((firstOffset) => ({ firstOffset, firstTimestamp: 0n, records }))
  last().answer([{ ...givenFetched(log), partition: 0 }])
  await expect.poll(handling).toEqual([0])
  end(0, { offset: 1n })
  await expect.poll(() => fetches).toHaveLength(2)
  expect(last().offsets).toEqual([1n])
  last().answer([fetched(0, 1n)])
  await expect.poll(handling).toEqual([0])
  end(0)
  await expect.poll(() => fetches.at(-1)?.offsets).toEqual([2n])
})

it('a loop retries retryable errors and fails on others', async () => {
  const { fetches, failed, last } = givenLoop({ leaders: [1] })
  last().fail(Object.assign(new Error('closed'), { name: 'KafkaJSConnectionClosedError', retriable: true }))
  await expect.poll(() => fetches).toHaveLength(2)
  expect(failed).toEqual([])
  last().answer([fetched(0, 0n, FORBIDDEN)])
  await expect.poll(() => failed).toMatchObject([{ code: 'PARTITION_REFUSED', retryable: false }])
  expect(fetches).toHaveLength(2)
})
