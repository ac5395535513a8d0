/**
 * `npx -y pnpm benchmark:swap DATABASE_URL [USERS]`: measures the pause of folds during a swap of the user projector. The
 * instants of every user's segments differ in the live rows and must be carried over, and 1,000 users change at the last
 * moment. The role must be allowed to create databases; the benchmark creates one and drops it.
 */
import { coreTableSources } from '@nextvisit/consumer'
import { applyMigrations, withClient } from '@nextvisit/database'
import { createMigratedDatabase } from '@nextvisit/testing'
import { consumerNamed } from '../src/environment/consumer-database.ts'
import { replay } from '../src/replay/replay.ts'
import { shadowOf } from '../src/replay/shadow-schema.ts'

const PARTITIONS = 12
const CHANGED = 1_000
const [adminUrl, count = '1000000'] = process.argv.slice(2)
if (adminUrl === undefined || !/^[1-9]\d*$/.test(count)) {
  console.error('Usage: npx -y pnpm benchmark:swap DATABASE_URL [USERS]')
  process.exit(2)
}
const { schema: live, migrations, tables } = consumerNamed('user-projector')
const rebuilt = shadowOf(live)

const database = await createMigratedDatabase(adminUrl, { schema: live, migrations })
try {
  for (const own of migrations) await applyMigrations({ url: database.url, schema: rebuilt, ...own })
  await withClient(database.url, async (client) => {
    for (const schema of [live, rebuilt]) await client.query(rowsOf(schema, Number(count)))
    console.log(`${count} users in both schemas. Comparing and swapping …`)
    const changeSome = `UPDATE ${rebuilt}.users AS own SET last_seen_at = last_seen_at
      FROM (SELECT md5(number::text)::uuid AS user_id FROM generate_series(1, ${CHANGED}) AS number) AS chosen
      WHERE (organization, project, own.user_id) = ('acme', 'shop', chosen.user_id)`
    const foldUp = () => withClient(database.url, async (other) => void (await other.query(changeSome)))
    const { outcome, lockedMs } = await replay({
      adminUrl: database.url,
      client,
      schemas: { live, rebuilt },
      tableSources: { ...tables, ...coreTableSources },
      migrations,
      sources: [{ remaining: () => Promise.resolve(0), foldUp }],
      isDryRun: false,
      acceptsDifferences: true,
      onStep: (step) => console.log(`${(performance.now() / 1_000).toFixed(1)} s: ${step}`),
      onCompared: () => {},
    })
    const { rows } = await client.query<{ carried: string }>(
      `SELECT count(*) AS carried FROM ${live}.users WHERE as_of = '2026-11-02T10:00:00Z'`,
    )
    console.log(
      `${outcome}: folds waited ${Math.round(lockedMs)} ms; as_of of ${rows[0]?.carried} users was carried over.`,
    )
  })
} finally {
  await database.drop()
}

/** Returns SQL that inserts the users of a schema, each in one segment. Only `as_of` and `since` differ between the schemas. */
function rowsOf(schema: string, users: number): string {
  const instant = schema === live ? '2026-11-02T10:00:00Z' : '2026-01-02T10:00:00Z'
  const user = `'acme', 'shop', md5(number::text)::uuid`
  const numbers = `generate_series(1, ${users}) AS number`
  return `
    INSERT INTO ${schema}.checkpoints (projection, topic, partition, next_offset)
    SELECT 'user-projector', 'user-events', partition, 1000 FROM generate_series(0, ${PARTITIONS - 1}) AS partition;
    INSERT INTO ${schema}.users (organization, project, user_id, user_name, traits, trait_bytes, dropped_trait_operations, device, first_seen_at, last_seen_at,
      partition, definitions, as_of)
    SELECT ${user}, 'user-' || number, jsonb_build_object('plan', 'pro', 'note', repeat('x', 100)), 120, 0, '{}', now(), now(),
           number % ${PARTITIONS}, 'fingerprint', '${instant}'
    FROM ${numbers};
    INSERT INTO ${schema}.segment_members (organization, project, user_id, segment_id, since)
    SELECT ${user}, 'paying', '${instant}' FROM ${numbers};
    ANALYZE ${schema}.users; ANALYZE ${schema}.segment_members`
}
