import { HEADERS } from '@nextvisit/contracts'
import type { FetchedRecord } from '@nextvisit/log'
import type { Tracing } from '@nextvisit/service-kit'
import { describe, expect, it } from 'vitest'
import { createCommitTracing } from './commit-tracing.ts'
import type { PartitionBatch } from './partition-batch.ts'

type Span = Parameters<Tracing['record']>[0]

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const context = (span: number, flags = '01') => `00-${TRACE}-${span.toString(16).padStart(16, '0')}-${flags}`
const FETCH = { beganAt: 1, endedAt: 2 }

/** A batch of records with these traces. */
function batchOf(partition: number, traceparents: readonly (string | undefined)[], fetch = FETCH): PartitionBatch {
  const records = traceparents.map((traceparent) => ({
    headers: traceparent === undefined ? {} : { [HEADERS.traceparent]: traceparent },
  }))
  return {
    records: records as unknown as FetchedRecord[],
    fetch,
    checkpoint: { key: { partition } },
  } as unknown as PartitionBatch
}

function givenTracing() {
  const spans: Span[] = []
  const traceCommit = createCommitTracing(
    { record: (span) => void spans.push(span), stop: () => Promise.resolve() },
    { topic: 'user-events', groupId: 'metering' },
  )
  return { spans, commit: (...batches: PartitionBatch[]) => traceCommit({ batches, beganAt: 3 }) }
}

describe('the spans of a commit', () => {
  it('do not exist if no record is sampled', () => {
    const { spans, commit } = givenTracing()
    commit(batchOf(0, [undefined, context(1, '00'), 'nonsense']))
    expect(spans).toEqual([])
  })

  it('are one for the fetch and one for the commit, caused by the sampled records only', () => {
    const { spans, commit } = givenTracing()
    commit(batchOf(0, [context(1), context(2, '00'), undefined]), batchOf(4, [context(3)]))
    const causes = [context(1), context(3)]
    const shared = { causes, attributes: { 'messaging.batch.message_count': 4 } }
    expect(spans).toMatchObject([
      { name: 'poll user-events', kind: 'client', ...FETCH, ...shared },
      { name: 'process user-events', kind: 'consumer', beganAt: 3, ...shared },
    ])
    expect(spans[1]?.attributes).toMatchObject({
      'messaging.system': 'kafka',
      'messaging.destination.name': 'user-events',
      'messaging.consumer.group.name': 'metering',
      'messaging.operation.type': 'process',
    })
    expect(spans[1]?.attributes).not.toHaveProperty('messaging.destination.partition.id')
  })

  it('name the partition of a commit of one', () => {
    const { spans, commit } = givenTracing()
    commit(batchOf(4, [context(1)]))
    expect(spans[1]?.attributes).toMatchObject({ 'messaging.destination.partition.id': '4' })
  })

  it('show a fetch once, although several commits fold its records', () => {
    const { spans, commit } = givenTracing()
    commit(batchOf(0, [context(1)]))
    commit(batchOf(1, [context(2)]))
    expect(spans.map(({ name }) => name.split(' ')[0])).toEqual(['poll', 'process', 'process'])
  })

  it('have at most 128 causes', () => {
    const { spans, commit } = givenTracing()
    commit(
      batchOf(
        0,
        Array.from({ length: 1_000 }, (_, span) => context(span + 1)),
      ),
    )
    expect(spans.map(({ causes }) => causes.length)).toEqual([128, 128])
  })
})
