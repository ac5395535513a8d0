import { expect, it } from 'vitest'
import { givenLog } from '@nextvisit/projection/test/given-log.ts'
import { givenVisitsReplay } from '../../test/given-visits-replay.ts'

it.each([
  [
    'has other contents',
    `UPDATE visits._core_migrations SET checksum = 'another' WHERE migration_name = '0001_core'`,
    /other contents.*0001_core\. /,
  ],
  [
    'is missing',
    `DELETE FROM visits._core_migrations WHERE migration_name = '0001_core'`,
    /not have the same migrations: 0001_core.*Run nextvisit migrate/,
  ],
])('refuses where a migration of the live schema %s', async (_, change, message) => {
  const { replay, asAdmin } = await givenVisitsReplay(await givenLog())
  await asAdmin(change)
  await expect(replay()).rejects.toMatchObject({ code: 'SCHEMAS_DIFFER', message: expect.stringMatching(message) })
})
