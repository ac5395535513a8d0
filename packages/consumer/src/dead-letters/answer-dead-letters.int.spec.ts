import { randomUUID } from 'node:crypto'
import { deadLetterCalls, type DeadLetterGroup } from '@nextvisit/contracts'
import { type Db, type Queryable, sql, type Sql } from '@nextvisit/database'
import { createLocalClient, type CallOutcome } from '@nextvisit/service-kit'
import { countRowsRead } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'
import { givenConsumerDb, givenDeadLetters } from '../../test/given-dead-letters.ts'
import { answerDeadLetters } from './answer-dead-letters.ts'

const NOT_JSON = 'value is not JSON'

function asksOn(db: Queryable) {
  return createLocalClient(deadLetterCalls, answerDeadLetters('visits', db))
}

async function answerOf<Answer>(asked: Promise<CallOutcome<Answer>>): Promise<Answer> {
  const outcome = await asked
  if (outcome.outcome !== 'answered') throw new Error(`The call was not answered: ${outcome.outcome}`)
  return outcome.answer
}

const at = (offset: string, partition = 0) => ({ topic: 'user-events', partition, offset })

async function causeIdOf(db: Db, reason: string): Promise<string> {
  const { groups } = await answerOf(asksOn(db).readCauses({}))
  return groups.find(({ cause }) => cause === reason)?.causeId ?? ''
}

it('readCauses groups dead letters by their cause', async () => {
  const db = await givenConsumerDb()
  await givenDeadLetters(db, [
    { reason: 'value is null', state: 'dead' },
    { reason: 'value is not JSON', state: 'dead' },
    { reason: 'value is not JSON', state: 'retry' },
    { reason: 'value is not JSON', state: 'retried' },
    { reason: 'type is unknown', state: 'discarded' },
  ])
  expect(await answerOf(asksOn(db).readCauses({}))).toEqual({
    groups: [
      {
        cause: 'value is not JSON',
        causeId: expect.stringMatching(/^c[0-9a-f]+$/),
        dead: 1,
        toRetry: 1,
        retried: 0,
        discarded: 0,
        oldest: '2026-11-23T03:01:00.000Z',
        newest: '2026-11-23T03:02:00.000Z',
        example: '2',
        lastId: '3',
      },
      {
        cause: 'value is null',
        causeId: expect.stringMatching(/^c[0-9a-f]+$/),
        dead: 1,
        toRetry: 0,
        retried: 0,
        discarded: 0,
        oldest: '2026-11-23T03:00:00.000Z',
        newest: '2026-11-23T03:00:00.000Z',
        example: '1',
        lastId: '1',
      },
    ],
  })
})

describe('the dead letters of a cause', () => {
  it('are listed in pages, the oldest first, without settled ones', async () => {
    const db = await givenConsumerDb()
    const asks = asksOn(db)
    await givenDeadLetters(db, [
      { reason: NOT_JSON },
      { reason: 'type is unknown' },
      { reason: NOT_JSON, state: 'retry' },
      { reason: NOT_JSON, state: 'discarded' },
      { reason: NOT_JSON },
    ])
    const causeId = await causeIdOf(db, NOT_JSON)
    const first = await answerOf(asks.list({ causeId, limit: 2 }))
    expect(first).toMatchObject({ letters: [{ id: '1', cause: NOT_JSON, causeId }, { id: '3' }], next: '3' })
    expect(await answerOf(asks.list({ causeId, limit: 2, after: '3' }))).toMatchObject({
      letters: [{ id: '5', state: 'dead', topic: 'user-events', partition: 0, offset: '4' }],
      next: null,
    })
  })
})

it('readAt finds the dead letter of a record in any state by its position in the log', async () => {
  const db = await givenConsumerDb()
  const asks = asksOn(db)
  await givenDeadLetters(db, [{ reason: NOT_JSON }, { reason: 'value is null', state: 'discarded' }])
  const place = { topic: 'user-events', partition: 0, offset: '1' }
  expect(await answerOf(asks.readAt(place))).toMatchObject({ letter: { id: '2', state: 'discarded' } })
  for (const other of [{ offset: '2' }, { partition: 1 }, { topic: 'form-events' }])
    expect(await answerOf(asks.readAt({ ...place, ...other }))).toEqual({ letter: null })
})

it('listDecided lists decided dead letters in pages, the last decision first', async () => {
  const db = await givenConsumerDb()
  const asks = asksOn(db)
  await givenDeadLetters(db, [{ reason: NOT_JSON }, { reason: NOT_JSON }, { reason: NOT_JSON }, { reason: NOT_JSON }])
  for (const [nth, ids] of [[1, 2], [4], [3]].entries())
    await db.$executeRaw(sql`
      UPDATE dead_letters SET state = 'discarded', decided_by = 'Grace', decided_at = to_timestamp(${nth}::int)
      WHERE id = ANY(${ids}::bigint[])`)
  const first = await answerOf(asks.listDecided({ limit: 3 }))
  expect(first).toMatchObject({
    letters: [{ id: '3', state: 'discarded', decidedBy: 'Grace' }, { id: '4' }, { id: '2' }],
  })
  expect(await answerOf(asks.listDecided({ limit: 3, after: first.next ?? undefined }))).toMatchObject({
    letters: [{ id: '1' }],
    next: null,
  })
})

it('a page reads only its own dead letters, and a decision only those of its cause, among any number of others', async () => {
  const db = await givenConsumerDb()
  const asks = asksOn(db)
  await db.$executeRaw(sql`
    INSERT INTO dead_letters (projection, topic, partition, "offset", headers, record_time, reason, service_version)
    SELECT 'visits', 'user-events', 0, nth, '{}', now(), CASE nth % 1000 WHEN 0 THEN ${NOT_JSON} ELSE 'another' END, '0'
    FROM generate_series(1, 20000) AS nth`)
  await db.$executeRaw(sql`ANALYZE dead_letters`)
  const causeId = await causeIdOf(db, NOT_JSON)
  const read = await countRowsRead(db, ['dead_letters'], async () => {
    expect(await answerOf(asks.list({ causeId, limit: 10 }))).toMatchObject({ next: '10000' })
    const selected = { by: 'causeId', causeId, lastId: '20000' } as const
    const decided = await answerOf(asks.decide({ selected, decision: 'discard', by: 'Grace' }))
    expect(decided).toMatchObject({ count: 20 })
    await answerOf(asks.readAt({ topic: 'user-events', partition: 0, offset: '7' }))
    const { next } = await answerOf(asks.listDecided({ limit: 5 }))
    expect(await answerOf(asks.listDecided({ limit: 5, after: next ?? undefined }))).toMatchObject({
      next: { id: '11000' },
    })
  })
  expect(read).toBeLessThan(1_000)
})

it('listOfKey lists the dead letters of a Kafka key in any state, in pages, and reads no others', async () => {
  const db = await givenConsumerDb()
  const asks = asksOn(db)
  await db.$executeRaw(sql`
    INSERT INTO dead_letters (projection, topic, partition, "offset", key, headers, record_time, reason, service_version, state)
    SELECT 'visits', 'user-events', 0, nth, CASE WHEN nth % 1000 = 0 THEN convert_to('é', 'UTF8') ELSE int4send(nth::int) END,
           '{}', now(), ${NOT_JSON}, '0', CASE WHEN nth % 2000 = 0 THEN 'discarded' ELSE 'dead' END
    FROM generate_series(1, 5000) AS nth`)
  await db.$executeRaw(sql`ANALYZE dead_letters`)
  // The index accepts a key of any length: otherwise one record would halt the consumer.
  const longKey = Array.from({ length: 1_000 }, () => randomUUID()).join('')
  await db.$executeRaw(sql`UPDATE dead_letters SET key = convert_to(${longKey}, 'UTF8') WHERE id = 1`)
  const read = await countRowsRead(db, ['dead_letters'], async () => {
    const first = await answerOf(asks.listOfKey({ key: 'é', limit: 3 }))
    expect(first).toMatchObject({ letters: [{ id: '1000', state: 'dead' }, { state: 'discarded' }, {}], next: '3000' })
    const second = await answerOf(asks.listOfKey({ key: 'é', limit: 3, after: '3000' }))
    expect(second).toMatchObject({ letters: [{ id: '4000' }, { id: '5000' }], next: null })
  })
  expect(read).toBeLessThan(100)
})

it('a page of all causes reads only its own dead letters, among any number of settled and open ones', async () => {
  const db = await givenConsumerDb()
  const asks = asksOn(db)
  await db.$executeRaw(sql`
    INSERT INTO dead_letters (projection, topic, partition, "offset", headers, record_time, reason, service_version, state)
    SELECT 'visits', 'user-events', 0, nth, '{}', now(), ${NOT_JSON}, '0', CASE WHEN nth <= 5000 THEN 'discarded' ELSE 'dead' END
    FROM generate_series(1, 10000) AS nth`)
  await db.$executeRaw(sql`ANALYZE dead_letters`)
  const read = await countRowsRead(db, ['dead_letters'], async () => {
    const { next } = await answerOf(asks.list({ limit: 10 }))
    expect(next).toBe('5010')
    expect(await answerOf(asks.list({ limit: 10, after: next ?? undefined }))).toMatchObject({ next: '5020' })
  })
  expect(read).toBeLessThan(100)
})

/** A dead letter with these headers. `bytesRead`: the size of the rows that were read for answers. */
async function givenHeaders(headers: Readonly<Record<string, string>>) {
  const db = await givenConsumerDb()
  await givenDeadLetters(db, [{ reason: NOT_JSON }])
  await db.$executeRaw(sql`UPDATE dead_letters SET headers = ${JSON.stringify(headers)}::json`)
  const rows: unknown[] = []
  const asks = asksOn({
    $queryRaw: async <Rows>(query: Sql) => {
      const read = await db.$queryRaw<Rows>(query)
      rows.push(read)
      return read
    },
  })
  const readHeaders = async (content: 'bounded' | 'headers' | 'whole') =>
    (await answerOf(asks.read({ id: '1', content }))).content?.headers
  return { readHeaders, bytesRead: () => JSON.stringify(rows).length }
}

describe('one dead letter', () => {
  it.each([
    ['broken JSON', Buffer.from('{"broken'), { form: 'text', text: '{"broken', isCut: false }],
    ['JSON', Buffer.from('{"a":1}'), { form: 'json', text: '{"a":1}', isCut: false }],
    ['other bytes', Buffer.from([0, 255]), { form: 'hex', text: '00ff', isCut: false }],
    ['a very long text', Buffer.alloc(70_000, 'é'), { form: 'text', text: 'é'.repeat(32_768), isCut: true }],
  ])('shows %s, and only if the question asks for it', async (_, value, shown) => {
    const db = await givenConsumerDb()
    const asks = asksOn(db)
    await givenDeadLetters(db, [{ reason: NOT_JSON, value }])
    const own = { id: '1', state: 'dead', valueBytes: value.byteLength }
    expect(await answerOf(asks.read({ id: '1', content: 'none' }))).toMatchObject({ ...own, content: null })
    expect(await answerOf(asks.read({ id: '1', content: 'bounded' }))).toMatchObject({
      ...own,
      content: { key: null, headers: [{ name: 'ce_id', value: String.raw`a\u001bb` }], value: shown },
    })
    expect(await asks.read({ id: '2', content: 'bounded' })).toEqual({ outcome: 'not-found' })
  })

  it.each([
    ['a quote and a backslash', '"\\'],
    ['U+0000', '\u0000'],
    ['a line break', '\n'],
    ['a character beyond U+FFFF', '🎉'],
    ['nothing', ''],
  ])('shows headers with %s', async (_, text) => {
    const headers = { ce_id: 'a', [`x${text}`]: `${text}y${text}`, last: 'z' }
    const { readHeaders } = await givenHeaders(headers)
    const shown = Object.entries(headers).map(([name, value]) => ({
      name: name.replace('\u0000', String.raw`\u0000`).replace('\n', String.raw`\u000a`),
      value: value.replaceAll('\u0000', String.raw`\u0000`).replaceAll('\n', String.raw`\u000a`),
    }))
    for (const content of ['bounded', 'headers', 'whole'] as const) expect(await readHeaders(content)).toEqual(shown)
  })

  it.each([
    ['letters', 'a'],
    ['control characters', '\u0001'],
    ['backslashes', '\\'],
  ])(
    'reads only the beginning of long headers of %s, and only the first ones, unless the question asks for all',
    async (_, text) => {
      for (const before of ['', 'x', 'xy', 'xyz']) {
        const long = before + text.repeat(10_000)
        const headers = {
          [long]: 'z',
          ...Object.fromEntries(Array.from({ length: 100 }, (_each, n) => [`h${n}`, long])),
        }
        const { readHeaders, bytesRead } = await givenHeaders(headers)
        const bounded = await readHeaders('bounded')
        const cut = long.slice(0, 1_000).replaceAll('\u0001', String.raw`\u0001`)
        expect(bounded).toHaveLength(50)
        expect(bounded?.slice(0, 2)).toEqual([
          { name: cut, value: 'z' },
          { name: 'h0', value: cut },
        ])
        expect(bytesRead()).toBeLessThan(1_000_000)
        expect(await readHeaders('headers')).toHaveLength(101)
      }
    },
  )
})

describe('a decision', () => {
  it('applies once to the dead letters of a cause, names the operator, and its progress can be read', async () => {
    const db = await givenConsumerDb()
    const asks = asksOn(db)
    await givenDeadLetters(db, [
      { reason: NOT_JSON },
      { reason: NOT_JSON },
      { reason: NOT_JSON, state: 'discarded' },
      { reason: 'type is unknown' },
    ])
    const selected = { by: 'causeId', causeId: await causeIdOf(db, NOT_JSON), lastId: '4' } as const
    const asked = { selected, decision: 'retry', by: 'Grace' } as const
    const decided = await answerOf(asks.decide(asked))
    expect(decided).toMatchObject({ count: 2 })
    expect(await answerOf(asks.decide(asked))).toEqual({ count: 0, decidedAt: null, isFull: false })

    const decidedAt = decided.decidedAt ?? ''
    const follow = () => answerOf(asks.readDecision({ decidedAt }))
    expect(await follow()).toEqual({ retry: 2, retried: 0, dead: 0, discarded: 0, deadAgain: [] })
    await db.$executeRaw(sql`UPDATE dead_letters SET state = 'retried' WHERE id = 1`)
    await db.$executeRaw(sql`UPDATE dead_letters SET state = 'dead', reason = 'type is unknown' WHERE id = 2`)
    expect(await follow()).toMatchObject({
      retry: 0,
      retried: 1,
      dead: 1,
      deadAgain: [{ cause: 'type is unknown', count: 1 }],
    })
    expect(await answerOf(asks.read({ id: '1', content: 'none' }))).toMatchObject({
      decidedBy: 'Grace',
      decidedAt,
    })
  })

  it('does not change dead letters that are newer than the operator’s list', async () => {
    const db = await givenConsumerDb()
    const asks = asksOn(db)
    await givenDeadLetters(db, [{ reason: NOT_JSON }, { reason: NOT_JSON }])
    const { groups } = await answerOf(asks.readCauses({ limit: 1 }))
    const [{ causeId, lastId }] = groups as [DeadLetterGroup]
    await givenDeadLetters(db, [{ reason: NOT_JSON, offset: 7 }])
    const selected = { by: 'causeId', causeId, lastId } as const
    expect(await answerOf(asks.decide({ selected, decision: 'discard', by: 'Grace' }))).toMatchObject({ count: 2 })
    expect(await answerOf(asks.read({ id: '3', content: 'none' }))).toMatchObject({ state: 'dead' })
  })

  it('discards only the dead letters that it names', async () => {
    const db = await givenConsumerDb()
    const asks = asksOn(db)
    await givenDeadLetters(db, [{ reason: NOT_JSON }, { reason: NOT_JSON }])
    const selected = { by: 'ids' as const, ids: ['2', '99'] }
    expect(await answerOf(asks.preview({ selected }))).toEqual({
      dead: 1,
      missingIds: ['99'],
      missingRecords: [],
    })
    expect(await answerOf(asks.decide({ selected, decision: 'discard', by: 'Grace' }))).toMatchObject({ count: 1 })
    expect(await answerOf(asks.read({ id: '2', content: 'none' }))).toMatchObject({ state: 'discarded' })
    expect(await answerOf(asks.preview({ selected: { by: 'all' } }))).toEqual({
      dead: 1,
      missingIds: [],
      missingRecords: [],
    })
  })

  it('decides the letters of records that it names, and lists records without a letter', async () => {
    const db = await givenConsumerDb()
    const asks = asksOn(db)
    await givenDeadLetters(db, [{ reason: NOT_JSON }, { reason: NOT_JSON }])
    const selected = { by: 'records' as const, records: [at('1'), at('1', 5), at('99')] }
    expect(await answerOf(asks.preview({ selected }))).toEqual({
      dead: 1,
      missingIds: [],
      missingRecords: [at('99'), at('1', 5)],
    })
    expect(await answerOf(asks.decide({ selected, decision: 'discard', by: 'Grace' }))).toMatchObject({ count: 1 })
    expect(await answerOf(asks.read({ id: '1', content: 'none' }))).toMatchObject({ state: 'dead' })
    expect(await answerOf(asks.read({ id: '2', content: 'none' }))).toMatchObject({ state: 'discarded' })
    expect((await answerOf(asks.list({ limit: 10 }))).letters).toMatchObject([{ id: '1' }])
  })
})

describe('setting aside', () => {
  it('is accepted only for the record that halts the partition', async () => {
    const db = await givenConsumerDb()
    const asks = asksOn(db)
    await db.$executeRaw(sql`
      INSERT INTO checkpoints (projection, topic, partition, next_offset) VALUES ('visits', 'user-events', 3, 7)`)
    await db.$executeRaw(sql`
      INSERT INTO partition_alarms (projection, topic, partition, kind, "offset", record_id, code, message)
      VALUES ('visits', 'user-events', 3, 'halted', 7, 'none', 'FOLD_FAILED', 'a bug')`)
    const asked = { topic: 'user-events', partition: 3, offset: '7', by: 'Grace' }
    expect(await answerOf(asks.setAside({ ...asked, offset: '8' }))).toEqual({
      outcome: 'refused',
      reason: 'visits is halted on user-events/3 at offset 7, not at 8.',
      isBefore: true,
    })
    expect(await answerOf(asks.setAside(asked))).toEqual({ outcome: 'asked' })
    expect(await answerOf(asks.setAside({ ...asked, by: 'Bob' }))).toEqual({ outcome: 'asked' })
    const [alarm] = await db.$queryRaw<object[]>(sql`SELECT set_aside_by AS by FROM partition_alarms`)
    expect(alarm).toEqual({ by: 'Grace' })
  })

  it('is refused at the next record while it does not halt the partition, which it may do later', async () => {
    const db = await givenConsumerDb()
    await db.$executeRaw(sql`
      INSERT INTO checkpoints (projection, topic, partition, next_offset) VALUES ('visits', 'user-events', 3, 7)`)
    const asks = asksOn(db)
    const asked = { topic: 'user-events', partition: 3, by: 'Grace' }
    const refused = { outcome: 'refused', reason: 'visits is not halted on user-events/3.' }
    expect(await answerOf(asks.setAside({ ...asked, offset: '7' }))).toEqual({ ...refused, isBefore: true })
    expect(await answerOf(asks.setAside({ ...asked, offset: '6' }))).toEqual(refused)
  })
})
