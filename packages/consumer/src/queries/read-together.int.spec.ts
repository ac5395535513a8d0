import { sql } from '@nextvisit/database'
import { expect, it } from 'vitest'
import { givenVisitsDatabase } from '../../test/given-visits.ts'
import { readTogether } from './read-together.ts'

interface Found {
  readonly doubled: { readonly twice: number }
  readonly large: { readonly n: number; readonly at: string; readonly note: null }
  readonly none: { readonly n: number }
}

it('readTogether reads the rows of several queries about the same values in one round trip', async () => {
  const { db } = await givenVisitsDatabase()
  const found = await readTogether<Found>(db, sql`SELECT n FROM unnest(${[1, 2, 3]}::int[]) AS given (n)`, {
    doubled: sql`SELECT n * 2 AS twice FROM asked ORDER BY n`,
    large: sql`SELECT n, '2026-11-21T10:00:00.123Z'::timestamptz AS at, NULL AS note FROM asked WHERE n > ${2}::int`,
    none: sql`SELECT n FROM asked WHERE n > ${3}::int`,
  })
  expect(found).toEqual({
    doubled: [{ twice: 2 }, { twice: 4 }, { twice: 6 }],
    large: [{ n: 3, at: '2026-11-21T10:00:00.123+00:00', note: null }],
    none: [],
  })
})
