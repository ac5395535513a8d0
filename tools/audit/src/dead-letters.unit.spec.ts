import { createHash } from 'node:crypto'
import type { FetchedRecord } from '@nextvisit/log'
import { describe, expect, it } from 'vitest'
import { createDeadLetterCheck } from './dead-letters.ts'
import { createFindings } from './findings.ts'
import { type DeadLetter, recordRefOf } from './snapshot.ts'

const PARTITION = 3
const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex')

const record = (offset: bigint, more: Partial<FetchedRecord> = {}): FetchedRecord => {
  const value = Buffer.from(`value ${offset}`)
  return { topic: 'user-events', partition: PARTITION, offset, timestampMs: 0, key: null, value, headers: {}, ...more }
}
/** Returns the stand-in of an undecodable batch at these offsets. */
const batch = (firstOffset: bigint, lastOffset: bigint) =>
  record(firstOffset, { value: Buffer.alloc(0), undecodable: { error: new Error('damaged'), lastOffset } })

const letter = (offset: bigint, more: Partial<DeadLetter> = {}): DeadLetter => {
  return { partition: PARTITION, offset, state: 'dead', valueSha256: sha256(`value ${offset}`), ...more }
}
/** The letter at `offset` that describes a batch at these offsets. */
const describing = (offset: bigint, first: bigint, last: bigint) =>
  letter(offset, { valueSha256: sha256(''), omitted: { first, last } })

/** Returns the findings about a log of unreadable records that a consumer has folded up to `next`. */
function findingsAbout(log: readonly FetchedRecord[], letters: readonly DeadLetter[], next = 100n) {
  const findings = createFindings()
  const checkpoints = new Map([[PARTITION, next]])
  const deadLetters = new Map(letters.map((one) => [recordRefOf(one), one]))
  const check = createDeadLetterCheck({ service: 'metering', checkpoints, deadLetters }, findings)
  for (const one of log) if (one.offset < next) check.see(one, { outcome: 'unreadable', because: 'it is no JSON' })
  check.end()
  return findings.byKind().flatMap(({ kind, examples }) => examples.map(({ about }) => `${kind}: ${about}`))
}

describe('dead letters', () => {
  it('are the unreadable records, whose letters have the same bytes', () => {
    expect(findingsAbout([record(1n), record(4n)], [letter(4n), letter(1n)])).toEqual([])
    const wrong = [letter(1n, { valueSha256: sha256('other') }), letter(2n), letter(7n)]
    expect(findingsAbout([record(1n), record(4n)], wrong)).toEqual([
      'dead letters: other bytes: metering 3/1',
      'dead letters: not in the log: metering 3/2',
      'dead letters: not in the log: metering 3/7',
      'dead letters: missing: metering 3/4',
    ])
  })

  it('have one letter without content for an undecodable batch', () => {
    const log = [record(1n), batch(2n, 6n), record(7n)]
    expect(findingsAbout(log, [letter(1n), describing(2n, 2n, 6n), letter(7n)])).toEqual([])
    expect(findingsAbout(log, [letter(1n), letter(7n)])).toEqual(['dead letters: missing: metering 3/2'])
    const withContent = { ...describing(2n, 2n, 6n), valueSha256: sha256('other') }
    expect(findingsAbout(log, [letter(1n), withContent, letter(7n)])).toEqual([
      'dead letters: other bytes: metering 3/2',
    ])
  })
})

describe('a batch that was damaged after its first records were folded', () => {
  const log = [batch(2n, 6n), record(7n)]

  it('has its letter at the first offset that was not folded', () => {
    // The owner of the partition reads one record before its checkpoint again.
    for (const first of [2n, 3n, 4n]) expect(findingsAbout(log, [describing(4n, first, 6n), letter(7n)])).toEqual([])
  })

  it('has a second one after a replay', () => {
    expect(findingsAbout(log, [describing(2n, 2n, 6n), describing(4n, 3n, 6n), letter(7n)])).toEqual([])
  })

  it('keeps the letters of records that were folded, and has none of later records', () => {
    const letters = [letter(2n), letter(3n), describing(4n, 4n, 6n), letter(5n), letter(7n)]
    expect(findingsAbout(log, letters)).toEqual(['dead letters: not in the log: metering 3/5'])
  })

  it('has no letter of another batch, or beyond its end', () => {
    for (const other of [describing(4n, 4n, 5n), describing(4n, 1n, 6n), describing(4n, 5n, 6n), letter(4n)])
      expect(findingsAbout(log, [other, letter(7n)])).toEqual(['dead letters: missing: metering 3/2'])
    expect(findingsAbout([batch(2n, 6n), record(8n)], [describing(7n, 2n, 6n), letter(8n)])).toEqual([
      'dead letters: missing: metering 3/2',
      'dead letters: not in the log: metering 3/7',
    ])
  })

  it('has no letter while it halts the consumer', () => {
    expect(findingsAbout(log, [letter(3n)], 4n)).toEqual([])
    expect(findingsAbout(log, [describing(4n, 4n, 6n)], 4n)).toEqual(['dead letters: not in the log: metering 3/4'])
  })
})
