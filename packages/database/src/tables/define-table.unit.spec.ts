import { describe, expect, it } from 'vitest'
import type { Sample } from '../../generated/prisma/client.ts'
import { type ColumnsOf, defineTable, sql, type Sql } from '../index.ts'

const members = defineTable('members', { organization: 'text', userId: 'uuid', since: 'timestamptz?' }, [
  'organization',
  'userId',
])
const ADA = '00000000-0000-4000-8000-00000000000a'
const BOB = '00000000-0000-4000-8000-00000000000b'
const ada = { organization: 'acme', userId: ADA, since: '2026-11-21T10:00:00.000Z' }

/** One line, as Postgres gets it. */
function textOf(statements: readonly Sql[]): string {
  return statements.map((statement) => statement.text.replaceAll(/\s+/g, ' ').trim()).join('; ')
}

describe('defineTable', () => {
  it('upserts with one array per column, in the order of the keys', () => {
    const [statement] = members.upsert([ada, { organization: 'acme', userId: BOB }])
    expect(textOf(members.upsert([ada]))).toBe(
      'INSERT INTO "members" AS known ("organization", "user_id", "since") ' +
        'SELECT "organization", "user_id", "since" FROM unnest($1::text[],$2::uuid[],$3::timestamptz[]) ' +
        'WITH ORDINALITY AS given ("organization", "user_id", "since", position) ' +
        'ORDER BY "organization", "user_id", position ' +
        'ON CONFLICT ("organization", "user_id") DO UPDATE SET "since" = excluded."since"',
    )
    expect(statement?.values).toEqual([
      ['acme', 'acme'],
      [ADA, BOB],
      ['2026-11-21T10:00:00.000Z', null],
    ])
  })

  it('looks up rows of a list or of another table of the query one by one', () => {
    const options = { columns: ['organization'], where: sql`since IS NULL`, orderBy: 'userId' } as const
    const expected =
      '( SELECT found.* FROM asked, LATERAL ( SELECT * FROM "members" WHERE ("members"."organization") = ' +
      '(asked."organization") AND since IS NULL ORDER BY "user_id" OFFSET 0 ) AS found ) AS "members"'
    expect(textOf([members.lookUp('asked', options)])).toBe(expected)
    const list = 'unnest($1::text[]) WITH ORDINALITY AS asked ("organization", position)'
    expect(textOf([members.lookUp([ada], options)])).toBe(expected.replace('FROM asked,', `FROM ${list},`))
    expect(members.lookUp([ada]).values).toEqual([['acme'], [ADA]])
  })

  it('has the same statement for any number of rows', () => {
    const some = Array.from({ length: 3 }, (_, index) => ({ organization: `acme-${index}`, userId: ADA }))
    expect(textOf(members.upsert(some))).toBe(textOf(members.upsert([ada])))
    expect(textOf(members.insert(some))).toBe(textOf(members.insert([ada])))
    expect(textOf(members.update(some, ['since']))).toBe(textOf(members.update([ada], ['since'])))
    expect(textOf(members.deleteByKeys(some))).toBe(textOf(members.deleteByKeys([ada])))
  })

  it('has no statement for no rows', () => {
    expect([
      ...members.upsert([]),
      ...members.insert([]),
      ...members.insertMissing([]),
      ...members.update([], ['since']),
      ...members.deleteByKeys([]),
    ]).toEqual([])
  })

  it('merges each column by its rule', () => {
    const counters = defineTable(
      'counters',
      { slug: 'text', count: 'bigint', first: 'text?', last: 'text?', partition: 'int', name: 'text', hint: 'text' },
      ['slug'],
      { count: 'add', first: 'least', last: 'greatest', partition: 'keep', hint: { leastBy: ['name', 'count'] } },
    )
    const row = { slug: 'a', count: 1, partition: 0, name: 'A', hint: '' }
    expect(textOf(counters.upsert([row]))).toMatch(
      / ON CONFLICT \("slug"\) DO UPDATE SET "count" = known\."count" \+ excluded\."count", "first" = least\(known\."first", excluded\."first"\), "last" = greatest\(known\."last", excluded\."last"\), "name" = excluded\."name", "hint" = CASE WHEN \(excluded\."name", excluded\."count"\) < \(known\."name", known\."count"\) THEN excluded\."hint" ELSE known\."hint" END$/,
    )
  })

  it('does not change existing rows when it inserts missing ones', () => {
    expect(textOf(members.insertMissing([ada]))).toMatch(/ ON CONFLICT \("organization", "user_id"\) DO NOTHING$/)
  })

  it('sends only changed long values', () => {
    const users = defineTable('users', { userId: 'uuid', traits: 'json', country: 'text?' }, ['userId'])
    const statements = users.upsertKeeping('traits', [
      { userId: ADA, traits: undefined, country: 'NL' },
      { userId: BOB, traits: '{}' },
    ])
    expect(statements.map(({ values }) => values)).toEqual([
      [[BOB], ['{}'], [null]],
      [[ADA], ['NL']],
    ])
    expect(textOf(statements)).toMatch(
      /^INSERT .*; WITH locked .* UPDATE "users" SET "country" = locked\."country" FROM/,
    )
  })

  it('inserts rows in their order if Postgres generates the key', () => {
    const outbox = defineTable('outbox', { topic: 'text' }, [])
    expect(textOf(outbox.insert([{ topic: 'a' }]))).toMatch(/ ORDER BY position$/)
  })

  it('locks the rows that it changes or deletes in the order of their keys', () => {
    expect(textOf(members.update([ada], ['since']))).toContain(
      'ORDER BY "organization", "user_id" FOR NO KEY UPDATE OF "members" )',
    )
    expect(textOf(members.deleteByKeys([ada]))).toContain('ORDER BY "organization", "user_id" FOR UPDATE)')
  })

  it('compares names and types of columns with the Prisma model', () => {
    const columns = {
      organization: 'text',
      userId: 'uuid',
      traits: 'jsonb',
      note: 'text?',
      total: 'bigint',
      revision: 'int',
      isKnown: 'boolean',
      firstAt: 'timestamptz',
      lastAt: 'timestamptz?',
      latestMs: 'bigint[]',
      labels: 'text[]',
    } as const satisfies ColumnsOf<Sample>
    const { organization, ...others } = columns
    expect({ ...others, organization }).toEqual(columns)
    // @ts-expect-error A column is missing.
    void (others satisfies ColumnsOf<Sample>)
    // @ts-expect-error One that the model does not have.
    void ({ ...columns, userID: 'uuid' } as const satisfies ColumnsOf<Sample>)
    // @ts-expect-error One of another type.
    void ({ ...columns, total: 'text' } as const satisfies ColumnsOf<Sample>)
    // @ts-expect-error One that may not be null.
    void ({ ...columns, firstAt: 'timestamptz?' } as const satisfies ColumnsOf<Sample>)
    // @ts-expect-error One that may be null.
    void ({ ...columns, note: 'text' } as const satisfies ColumnsOf<Sample>)
  })

  it('accepts only rows of its own columns', () => {
    // @ts-expect-error A column that may not be null is missing.
    members.upsert([{ organization: 'acme' }])
    // @ts-expect-error A key's column is missing.
    members.deleteByKeys([{ organization: 'acme' }])
    // @ts-expect-error Not a column.
    members.update([ada], ['until'])
    // @ts-expect-error The key is not a column.
    defineTable('members', { organization: 'text' }, ['project'])
    expect(members.source('asked', [{ organization: 'acme' }], ['organization']).values).toEqual([['acme']])
  })
})
