import { MONTHLY_LIMITS, NAME_CAPS } from '@nextvisit/contracts'
import { sql } from '@nextvisit/database'
import { expect, it } from 'vitest'
import { givenLedger } from '../test/given-ledger.ts'

const ledger = givenLedger()

/** Returns the kinds that the tables accept, sorted. */
async function kindsByTable(): Promise<Readonly<Record<string, readonly string[]>>> {
  const checks = await ledger.prisma.$queryRaw<{ table: string; kinds: string[] }[]>(sql`
    SELECT conrelid::regclass::text AS table,
      ARRAY(SELECT m[1] FROM regexp_matches(pg_get_constraintdef(oid), '''([a-z]+)''', 'g') AS m ORDER BY 1) AS kinds
    FROM pg_constraint WHERE contype = 'c' AND conname LIKE '%kind_check' AND conrelid = ANY (ARRAY[
      'counters'::regclass, 'reserved_room'::regclass, 'unique_names'::regclass])`)
  return Object.fromEntries(checks.map(({ table, kinds }) => [table, kinds]))
}

it('the tables accept the kinds of counters and of names in the table of limits, and no others', async () => {
  const counters = Object.keys(MONTHLY_LIMITS).toSorted()
  expect(await kindsByTable()).toEqual({
    counters,
    reserved_room: counters,
    unique_names: Object.keys(NAME_CAPS).toSorted(),
  })
})
