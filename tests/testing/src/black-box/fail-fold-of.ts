import { withClient } from '@nextvisit/database'
import type { ThrowAwayStack } from './throw-away-stack.ts'

/** Makes the user projector's fold of this user fail, like a bug. Returns a function that repairs it. */
export async function failFoldOf(
  { adminDatabaseUrl }: Pick<ThrowAwayStack, 'adminDatabaseUrl'>,
  userName: string,
): Promise<() => Promise<void>> {
  const run = (statements: string): Promise<void> =>
    withClient(adminDatabaseUrl, async (client) => void (await client.query(statements)))
  await run(
    `CREATE FUNCTION users.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a bug'; END $$;
     CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON users.users FOR EACH ROW
     WHEN (NEW.user_name = '${userName}') EXECUTE FUNCTION users.fail()`,
  )
  return () => run('DROP TRIGGER fail ON users.users; DROP FUNCTION users.fail()')
}
