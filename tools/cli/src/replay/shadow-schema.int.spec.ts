import { givenLog } from '@nextvisit/consumer/test/given-log.ts'
import { expect, it, onTestFinished } from 'vitest'
import { givenVisitsReplay } from '../../test/given-replay.ts'

it.each([
  [
    'has different contents',
    `UPDATE visits._core_migrations SET checksum = 'another' WHERE migration_name = '0001_core'`,
    /different contents.*0001_core\. /,
  ],
  [
    'is missing',
    `DELETE FROM visits._core_migrations WHERE migration_name = '0001_core'`,
    /not have the same migrations: 0001_core.*Run nextvisit migrate/,
  ],
])('a replay is refused if a migration of the live schema %s', async (_, change, message) => {
  const { replay, asAdmin } = await givenVisitsReplay(await givenLog())
  await asAdmin(change)
  await expect(replay()).rejects.toMatchObject({ code: 'SCHEMAS_DIFFER', message: expect.stringMatching(message) })
})

it.each([
  ['a view', 'CREATE VIEW public.totals AS SELECT sum(count) FROM visits.visits', /view totals/],
  [
    'a foreign key',
    'CREATE TABLE public.notes (user_id uuid REFERENCES visits.visits (user_id))',
    /constraint notes_user_id_fkey/,
  ],
  ['an index', 'CREATE INDEX visits_by_count ON visits.visits (count)', /index visits_by_count/],
  ['a publication', 'CREATE PUBLICATION warehouse FOR TABLE visits.visits', /publication warehouse/],
])('refuses and names %s on the live tables, and leaves it', async (_, change, message) => {
  const { replay, asAdmin } = await givenVisitsReplay(await givenLog())
  await asAdmin(change)
  await expect(replay()).rejects.toMatchObject({ code: 'FOREIGN_OBJECTS', message: expect.stringMatching(message) })
  expect((await asAdmin('SELECT FROM visits.visits')).rows).toEqual([])
})

it('a replay refuses a foreign object that is added during the comparison', async () => {
  const { replay, asAdmin } = await givenVisitsReplay(await givenLog())
  const onStep = async (step: string) => {
    if (step === 'swap') await asAdmin('CREATE VIEW public.totals AS SELECT sum(count) FROM visits.visits')
  }
  await expect(replay({}, { onStep })).rejects.toMatchObject({ code: 'FOREIGN_OBJECTS' })
  expect((await asAdmin('SELECT * FROM public.totals')).rows).toHaveLength(1)
})

it('a replay carries grants over', async () => {
  const { replay, asAdmin } = await givenVisitsReplay(await givenLog())
  const role = `nextvisit_test_reader_${process.pid}`
  await asAdmin(`CREATE ROLE ${role}`)
  onTestFinished(async () => {
    await asAdmin(`DROP OWNED BY ${role}; DROP ROLE ${role}`)
  })
  await asAdmin(`
    GRANT USAGE ON SCHEMA visits TO ${role}; GRANT SELECT ON visits.visits TO ${role};
    GRANT SELECT (topic) ON visits.checkpoints TO ${role}`)
  expect(await replay()).toMatchObject({ outcome: 'swapped' })
  await asAdmin(`SET ROLE ${role}; SELECT * FROM visits.visits; SELECT topic FROM visits.checkpoints; RESET ROLE`)
  await expect(asAdmin(`SET ROLE ${role}; SELECT * FROM visits.checkpoints`)).rejects.toThrow('permission denied')
})

it('a replay is not resumed by other code than the code that started it', async () => {
  const { replay } = await givenVisitsReplay(await givenLog())
  const cutOff = { onStep: () => Promise.reject(new Error('cut off')) }
  await expect(replay({}, { ...cutOff, code: 'one' })).rejects.toThrow('cut off')
  await expect(replay({}, { code: 'another' })).rejects.toMatchObject({
    code: 'REPLAY_OF_OTHER_CODE',
    message: expect.stringMatching(/one, now another.*--restart/),
  })
  expect(await replay({}, { code: 'one' })).toMatchObject({ outcome: 'swapped' })
})
