import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { eventually, readTopic } from '@nextvisit/testing/black-box'
import { Client } from 'pg'
import type { CampaignStack } from './campaign-stack.ts'
import { type Fault, nothingToHeal } from './fault.ts'
import { withProducer } from './kafka-of.ts'
import { queryRows } from './query-rows.ts'

const CATALOG = 'catalog'
const SEEN_WITHIN_MS = 20_000
const BUGGY = 'a user that the fold fails for'

interface CatalogRecord {
  readonly revision: number
  readonly config: { readonly projects: readonly { readonly forms: readonly object[] }[] }
}

/** The hostile organization's catalog record as a later version would write it: with a trigger that is unknown today. */
const laterCatalog: Fault['inject'] = async ({ stack, hostile: { project } }) => {
  await publishLater(stack, project.organization)
  const alarms = await eventually(
    () => alarmsOf(stack),
    (text) => text.includes(project.organization),
    SEEN_WITHIN_MS,
  )
  return {
    lastsMs: 0,
    heal: nothingToHeal,
    witness: async () => (alarms.includes(project.organization) ? 'the gateway names the organization' : undefined),
  }
}

async function alarmsOf(stack: CampaignStack): Promise<string> {
  return (await fetch(`${stack.internalUrlOf('gateway')}/readyz`)).text()
}

async function publishLater(stack: CampaignStack, organization: string): Promise<void> {
  const records = await readTopic(stack.brokers, CATALOG)
  const latest = records.findLast(({ value }) => value?.['organization'] === organization)
  if (!latest) throw new Error(`The catalog has no record of ${organization}`)
  const { key, headers } = latest
  const value = latest.value as unknown as CatalogRecord
  const projects = value.config.projects.map((project) => ({
    ...project,
    forms: [...project.forms, { id: 'of-a-later-version', triggers: [{ moonPhase: 'full' }] }],
  }))
  const next = {
    ...value,
    id: crypto.randomUUID(),
    revision: value.revision + 1,
    config: { ...value.config, projects },
  }
  const messages = [{ key, headers, value: JSON.stringify(next) }]
  await withProducer(stack, (producer) => producer.send({ topic: CATALOG, messages }))
}

/** The user projector's fold of one user fails, as from a bug: only that user's partition may halt. */
const failingFold: Fault['inject'] = async ({ stack, hostile: { project, client } }) => {
  await asAdmin(
    stack,
    `CREATE FUNCTION users.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a bug'; END $$;
     CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON users.users FOR EACH ROW
     WHEN (NEW.user_name = '${BUGGY}') EXECUTE FUNCTION users.fail()`,
  )
  await client.send(project, { route: '/v2/admin/identify-user', body: { userName: BUGGY } })
  const halted = await eventually(
    () => haltedPartitions(stack),
    (partitions) => partitions.length > 0,
    SEEN_WITHIN_MS,
  )
  return {
    lastsMs: 5_000,
    heal: () => asAdmin(stack, 'DROP TRIGGER fail ON users.users; DROP FUNCTION users.fail()'),
    witness: async () => (halted.length === 1 ? 'one partition of the user projector halted, and no other' : undefined),
  }
}

async function haltedPartitions(stack: CampaignStack): Promise<readonly number[]> {
  const sql = `SELECT partition FROM partition_alarms WHERE kind = 'halted'`
  return (await queryRows<{ partition: number }>(stack, 'user-projector', sql)).map(({ partition }) => partition)
}

async function asAdmin({ dataDirectory }: CampaignStack, statement: string): Promise<void> {
  const file = await readFile(path.join(dataDirectory, 'connection.json'), 'utf8')
  const { adminDatabaseUrl } = JSON.parse(file) as { adminDatabaseUrl: string }
  const client = new Client({ connectionString: adminDatabaseUrl })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

export const hostileRecords: readonly Fault[] = [
  { name: 'a catalog of a later version', family: 'hostile records', inject: laterCatalog },
  { name: 'a fold that fails', family: 'hostile records', inject: failingFold },
]
