import type { KafkaMessage } from 'kafkajs'
import { describe, expect, it } from 'vitest'
import { type KafkaBatch, toFetchedBatches } from './fetched-batches.ts'

function messageAt(offset: number, headers: KafkaMessage['headers'] = {}): KafkaMessage {
  return { key: null, value: null, timestamp: '1700000000000', attributes: 0, offset: String(offset), headers }
}

function batchOf(fetchedOffset: number, messages: readonly KafkaMessage[], lastOffset: number): KafkaBatch {
  return {
    topic: 'any',
    partition: 3,
    highWatermark: '100',
    fetchedOffset: String(fetchedOffset),
    messages,
    lastOffset: () => String(lastOffset),
  }
}

describe('toFetchedBatches', () => {
  it('covers the holes before, between and behind the records', () => {
    const batch = batchOf(
      10,
      [12, 13, 17, 18, 20].map((offset) => messageAt(offset)),
      23,
    )
    expect(toFetchedBatches(batch, 2)).toMatchObject([
      { fetchedFrom: 10n, nextOffset: 17n, records: [{ offset: 12n }, { offset: 13n }] },
      { fetchedFrom: 17n, nextOffset: 20n, records: [{ offset: 17n }, { offset: 18n }] },
      { fetchedFrom: 20n, nextOffset: 24n, records: [{ offset: 20n }] },
    ])
  })

  it('is one batch without records when there were only control records (a log reader; a group never sees such a fetch)', () => {
    expect(toFetchedBatches(batchOf(10, [], 11), 2)).toEqual([
      { topic: 'any', partition: 3, fetchedFrom: 10n, nextOffset: 12n, highWatermark: 100n, records: [] },
    ])
  })

  it('ends before records that cannot be decoded, and throws where these come first', () => {
    const undecodable = { ...messageAt(14), undecodable: new RangeError('ends early') }
    const batch = batchOf(10, [messageAt(10), messageAt(11), undecodable, messageAt(15)], 15)
    expect(toFetchedBatches(batch, 10)).toMatchObject([{ fetchedFrom: 10n, nextOffset: 12n, records: [{}, {}] }])
    expect(() => toFetchedBatches(batchOf(12, [undecodable, messageAt(15)], 15), 10)).toThrow(
      expect.objectContaining({ code: 'BATCH_UNDECODABLE', message: expect.stringContaining('offset 12 of any/3') }),
    )
  })

  it('gives headers as strings, the last of equal ones, whatever they are called', () => {
    const headers = Object.fromEntries([
      ['__proto__', Buffer.from('é')],
      ['twice', ['first', Buffer.from('last')]],
      ['none', undefined],
      ['without a value', null],
    ])
    const [batch] = toFetchedBatches(batchOf(0, [messageAt(0, headers)], 0), 10)
    expect(Object.entries(batch?.records[0]?.headers ?? {})).toEqual([
      ['__proto__', 'é'],
      ['twice', 'last'],
    ])
  })
})
