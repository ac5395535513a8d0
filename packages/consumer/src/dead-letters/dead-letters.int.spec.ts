import { encodeRecord } from '@nextvisit/contracts'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import { type Db, sql } from '@nextvisit/database'
import type { FetchedRecord } from '@nextvisit/log'
import { batchOf, factsAsRecords } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'
import { givenVisitsDatabase, givenVisitsFold } from '../../test/given-visits.ts'
import { countVisits } from '../../test/visits-projection.ts'

const instant = new Date('2026-11-02T10:00:00Z')
const [sound] = factsAsRecords([eventTracked()])

/** Records whose values are these, from offset 0. */
function recordsOf(...values: (string | null)[]): FetchedRecord[] {
  return values.map((value, index) => ({
    ...(sound as FetchedRecord),
    offset: BigInt(index),
    value: value === null ? null : Buffer.from(value),
  }))
}

function valueOf(eventName: string): string {
  return encodeRecord(eventTracked({ eventName }), { source: 'test', time: instant.toISOString() }).value
}

/** An operator mends the letters in this order and wants them tried again. */
async function retry(db: Db, ...values: string[]): Promise<void> {
  for (const [offset, value] of values.entries()) {
    await db.$executeRaw(sql`
      UPDATE dead_letters SET state = 'retry', value = convert_to(${value}, 'UTF8') WHERE "offset" = ${offset}`)
  }
}

function readLetters(db: Db): Promise<unknown> {
  return db.$queryRaw(sql`SELECT "offset", state, reason FROM dead_letters ORDER BY "offset"`)
}

describe('dead letters', () => {
  it.each([
    ['no value', null, 'value is null'],
    ['no JSON', '{', 'value is not JSON'],
    ['U+0000', valueOf('a').replace('"a"', String.raw`"a\u0000"`), 'value holds U+0000 or a lone surrogate'],
    ['a nesting that is too deep', `${'['.repeat(100_000)}"\\u0000"${']'.repeat(100_000)}`, 'value is nested too deep'],
  ])('keep a record with %s, and its partition continues', async (_what, value, reason) => {
    const { db } = await givenVisitsDatabase()
    const fold = await givenVisitsFold(db)
    expect(await fold.fold(batchOf(recordsOf(value, valueOf('Fine'))))).toMatchObject({ records: 1, deadLetters: 1 })
    expect(await readLetters(db)).toEqual([{ offset: 0n, state: 'dead', reason }])
  })

  it('keep the whole record, with any bytes', async () => {
    const { db } = await givenVisitsDatabase()
    const fold = await givenVisitsFold(db)
    const bytes = Buffer.from([0, 255, 254, 10])
    const headers = { 'a\u0000b': '\u0000', 'schema-version': 'x' }
    await fold.fold(batchOf([{ ...(sound as FetchedRecord), key: bytes, value: bytes, headers }]))
    const [letter] = await db.$queryRaw<{ key: Buffer; value: Buffer; headers: string }[]>(
      sql`SELECT key, value, headers::text AS headers FROM dead_letters`,
    )
    expect(Buffer.from(letter?.key ?? []).equals(bytes) && Buffer.from(letter?.value ?? []).equals(bytes)).toBe(true)
    expect(JSON.parse(letter?.headers ?? '')).toEqual(headers)
  })

  it('are folded once after an operator retries them, without outbox rows', async () => {
    const { db } = await givenVisitsDatabase()
    const fold = await givenVisitsFold(db)
    await fold.fold(batchOf(recordsOf('{', '{')))
    await retry(db, valueOf('First'), '{"still')
    await fold.retry()
    await fold.retry()
    expect(await countVisits(db)).toBe(1)
    expect(await readLetters(db)).toMatchObject([{ state: 'retried' }, { state: 'dead', reason: 'value is not JSON' }])
    expect(await db.$queryRaw(sql`SELECT FROM outbox`)).toEqual([])
  })

  it('stay dead if folding them fails again, while the others are folded', async () => {
    const { db } = await givenVisitsDatabase()
    const fold = await givenVisitsFold(db)
    await fold.fold(batchOf(recordsOf('{', '{', '{')))
    await retry(db, valueOf('First'), valueOf('A bug'), valueOf('Third'))
    for (let attempt = 0; attempt < 3; attempt++) expect(await fold.retry()).toMatchObject({ outcome: 'folded' })
    expect(await countVisits(db)).toBe(2)
    expect(await readLetters(db)).toMatchObject([
      { state: 'retried' },
      { state: 'dead', reason: 'folding it failed: TypeError: a bug' },
      { state: 'retried' },
    ])
  })

  it('are retried in commits of bounded size, the oldest first', async () => {
    const { db } = await givenVisitsDatabase()
    const fold = await givenVisitsFold(db)
    const long = ' '.repeat(1_000_000)
    await fold.fold(batchOf(recordsOf(...Array.from({ length: 9 }, () => `{${long}`), '{')))
    await retry(db, ...Array.from({ length: 10 }, (_, index) => `${valueOf('Long')}${index < 9 ? long : ''}`))
    const folded: number[] = []
    for (
      let outcome = await fold.retry();
      outcome.outcome === 'folded' && outcome.records > 0;
      outcome = await fold.retry()
    )
      folded.push(outcome.records)
    expect(folded).toEqual([4, 4, 2])
    expect(await countVisits(db)).toBe(10)
  })

  it('are retried even if one alone is longer than a commit may be', async () => {
    const { db } = await givenVisitsDatabase()
    const fold = await givenVisitsFold(db)
    await fold.fold(batchOf(recordsOf('{', '{')))
    await retry(db, `${valueOf('Long')}${' '.repeat(5_000_000)}`, valueOf('Short'))
    expect(await fold.retry()).toMatchObject({ records: 1 })
    expect(await fold.retry()).toMatchObject({ records: 1 })
  })
})
