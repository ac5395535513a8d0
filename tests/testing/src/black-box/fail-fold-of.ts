import { withClient } from '@nextvisit/database'
import type { ThrowAwayStack } from './throw-away-stack.ts'

/**
 * Makes the user projector's fold of this user fail, like a bug: that of every record, or that of the erasure. Returns a
 * function that repairs it.
 */
export async function failFoldOf(
  { adminDatabaseUrl }: Pick<ThrowAwayStack, 'adminDatabaseUrl'>,
  userName: string,
  failing: 'every record' | 'the erasure' = 'every record',
): Promise<() => Promise<void>> {
  const [writes, row] = failing === 'every record' ? ['INSERT OR UPDATE', 'NEW'] : ['DELETE', 'OLD']
  const run = (statements: string): Promise<void> =>
    withClient(adminDatabaseUrl, async (client) => void (await client.query(statements)))
  await run(
    `CREATE FUNCTION users.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a bug'; END $$;
     CREATE TRIGGER fail BEFORE ${writes} ON users.users FOR EACH ROW
     WHEN (${row}.user_name = '${userName}') EXECUTE FUNCTION users.fail()`,
  )
  return () => run('DROP TRIGGER fail ON users.users; DROP FUNCTION users.fail()')
}
