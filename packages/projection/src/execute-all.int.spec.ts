import { type Db, sql } from '@nextvisit/database'
import * as fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { executeAll } from './execute-all.ts'
import { givenVisitsDatabase } from '../test/given-visits.ts'

let db: Db

beforeEach(async () => {
  db = (await givenVisitsDatabase()).db
  await db.$executeRaw(sql`
    CREATE TABLE kept (
      text text, texts text[], whole bigint, real float8, truth boolean, instant timestamptz, ids uuid[]
    )`)
})

const readKept = () => db.$queryRaw(sql`SELECT * FROM kept ORDER BY whole`)

describe('executing statements in one round trip', () => {
  it('keeps values of every kind as they are', async () => {
    const id = '0199a1e0-0000-7000-8000-000000000001'
    const instant = new Date('2026-11-21T10:00:00.123Z')
    await executeAll(db, [
      sql`INSERT INTO kept VALUES (${'a'}, ${['b']}::text[], ${2n ** 62n}, ${0.1}, ${true},
        ${instant}::timestamptz, ${[id]}::uuid[])`,
      sql`INSERT INTO kept (text, texts, whole, truth) VALUES (${null}, ${[null, '']}::text[], ${-1}, ${false})`,
    ])
    expect(await readKept()).toMatchObject([
      { text: null, texts: [null, ''], whole: -1n, truth: false },
      { text: 'a', texts: ['b'], whole: 2n ** 62n, real: 0.1, truth: true, instant, ids: [id] },
    ])
  })

  it('keeps every text, alone and in an array', async () => {
    const anyText = fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed() && !text.includes('\u0000'))
    const awkward = fc.constantFrom(
      '',
      'NULL',
      'null',
      '{}',
      '"',
      '\\',
      '\\"',
      "'; DROP TABLE kept",
      '$1[1]',
      '{"a":"\\n"}',
    )
    const texts = fc.array(fc.oneof(anyText, awkward), { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyText, awkward), texts, async (text, all) => {
        await executeAll(db, [
          sql`DELETE FROM kept`,
          sql`INSERT INTO kept (text, texts) VALUES (${text}, ${all}::text[])`,
        ])
        expect(await readKept()).toMatchObject([{ text, texts: all }])
      }),
      { numRuns: 100 },
    )
  })

  it('sees in each statement what those before it did', async () => {
    await executeAll(db, [
      sql`INSERT INTO kept (whole) VALUES (${1})`,
      sql`UPDATE kept SET whole = whole + ${1}`,
      sql`INSERT INTO kept (whole) SELECT whole + ${1} FROM kept`,
    ])
    expect(await readKept()).toMatchObject([{ whole: 2n }, { whole: 3n }])
  })

  it('leaves nothing behind where a statement fails', async () => {
    const failing = executeAll(db, [sql`INSERT INTO kept (whole) VALUES (${1})`, sql`SELECT 1 / 0`])
    await expect(failing).rejects.toThrow('division by zero')
    expect(await readKept()).toEqual([])
  })

  it('refuses an object, which has no one form as text', async () => {
    await expect(executeAll(db, [sql`SELECT ${{ a: 1 }}`])).rejects.toThrow('give its JSON')
  })
})
