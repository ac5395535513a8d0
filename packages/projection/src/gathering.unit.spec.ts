import { setTimeout as sleep } from 'node:timers/promises'
import { HEADERS } from '@nextvisit/contracts'
import type { FetchedBatch } from '@nextvisit/log'
import { describe, expect, it, vi } from 'vitest'
import { RunnerStoppedError } from './errors.ts'
import { createGathering, type Gathering } from './gathering.ts'
import type { OwnedPartition } from './owned-partition.ts'

const FOR_EVER_MS = 600_000

function batchOf({ behind = 0, replyTo = '' } = {}): FetchedBatch {
  const headers = replyTo ? { [HEADERS.replyTo]: replyTo } : {}
  return {
    topic: 'any',
    partition: 0,
    fetchedFrom: 0n,
    nextOffset: 1n,
    highWatermark: 1n + BigInt(behind),
    records: [{ offset: 0n, headers }] as unknown as FetchedBatch['records'],
  }
}

/** A partition that says which of its batches it has folded. */
function givenPartition({ canGather = true, fails }: { canGather?: boolean; fails?: Error } = {}) {
  const folded: FetchedBatch[] = []
  const handle = async (batch: FetchedBatch, begin?: Promise<void>): Promise<void> => {
    await begin
    if (fails) throw fails
    folded.push(batch)
  }
  return { folded, one: { handle, canGather: () => canGather } as unknown as OwnedPartition }
}

function given(callersWait: boolean, gatherMs = FOR_EVER_MS) {
  const onFailure = vi.fn<(error: Error) => void>()
  const gathering = createGathering({ callersWait, gatherMs, onFailure })
  return { gathering, onFailure }
}

/** Whether the next batch may be fetched, as far as nobody hurries. */
async function mayFetch(handled: Promise<void>): Promise<boolean> {
  return Promise.race([handled.then(() => true), sleep(20, false)])
}

async function expectHurried(gathering: Gathering, handled: Promise<void>): Promise<void> {
  gathering.hurry()
  await handled
}

describe('gathering where no caller waits', () => {
  it('folds a batch at once, and lets the next one gather in the log', async () => {
    const { gathering } = given(false)
    const { one, folded } = givenPartition()
    const handled = gathering.handle(one, batchOf())
    expect(await mayFetch(handled)).toBe(false)
    expect(folded).toHaveLength(1)
    await expectHurried(gathering, handled)
  })

  it('ends by itself, for all partitions at the same time', async () => {
    const { gathering } = given(false, 1)
    const { one, folded } = givenPartition()
    await Promise.all([gathering.handle(one, batchOf()), gathering.handle(one, batchOf())])
    expect(folded).toHaveLength(2)
  })

  it('fetches at once behind the end of the log', async () => {
    const { gathering } = given(false)
    const handled = gathering.handle(givenPartition().one, batchOf({ behind: 1 }))
    expect(await mayFetch(handled)).toBe(true)
    gathering.hurry()
  })

  it('begins again after somebody has hurried', async () => {
    const { gathering } = given(false)
    const { one } = givenPartition()
    const first = gathering.handle(one, batchOf())
    await expectHurried(gathering, first)
    const second = gathering.handle(one, batchOf())
    expect(await mayFetch(second)).toBe(false)
    await expectHurried(gathering, second)
  })
})

describe('gathering where callers wait', () => {
  it('goes on fetching while a batch gathers that nobody waits for', async () => {
    const { gathering } = given(true)
    const { one, folded } = givenPartition()
    await gathering.handle(one, batchOf())
    await gathering.handle(one, batchOf())
    await sleep(20)
    expect(folded).toEqual([])
    gathering.hurry()
    await sleep(0)
    expect(folded).toHaveLength(2)
  })

  it('folds a record that a caller waits for at once, with everything that has gathered', async () => {
    const { gathering } = given(true)
    const [mine, other] = [givenPartition(), givenPartition()]
    await gathering.handle(other.one, batchOf())
    await gathering.handle(mine.one, batchOf({ replyTo: 'a-gateway' }))
    expect(mine.folded).toHaveLength(1)
    expect(other.folded).toHaveLength(1)
  })

  it.each([
    ['is behind the end of the log', batchOf({ behind: 1 }), {}],
    ['is of a partition that folds or waits', batchOf(), { canGather: false }],
  ])('waits for a batch that %s', async (_what, batch, own) => {
    const { gathering } = given(true)
    const { one, folded } = givenPartition(own)
    await gathering.handle(one, batch)
    expect(folded).toEqual([batch])
  })

  it('reports what failed after the next batch was asked for, but no partition that was lost', async () => {
    const { gathering, onFailure } = given(true)
    const bug = new Error('a bug')
    await gathering.handle(givenPartition({ fails: new RunnerStoppedError() }).one, batchOf())
    await gathering.handle(givenPartition({ fails: bug }).one, batchOf())
    gathering.hurry()
    await sleep(0)
    expect(onFailure.mock.calls).toEqual([[bug]])
  })
})
