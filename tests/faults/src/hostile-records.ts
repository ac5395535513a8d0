import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { eventually } from '@nextvisit/testing/black-box'
import { Client } from 'pg'
import type { CampaignStack } from './campaign-stack.ts'
import { type Fault, nothingToHeal } from './fault.ts'
import { kafkaOf } from './kafka-of.ts'
import { queryRows } from './query-rows.ts'

const CATALOG = 'catalog'
const SEEN_WITHIN_MS = 20_000
const BUGGY = 'a user that the fold fails for'

interface CatalogRecord {
  readonly organization: string
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
  const latest = await readLatest(stack, organization)
  const value = JSON.parse(latest.value) as CatalogRecord
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
  const producer = kafkaOf(stack).producer()
  await producer.connect()
  await producer.send({ topic: CATALOG, messages: [{ ...latest, value: JSON.stringify(next) }] })
  await producer.disconnect()
}

interface Latest {
  readonly key: Buffer
  readonly value: string
  readonly headers: Record<string, Buffer | string | (Buffer | string)[] | undefined>
}

async function readLatest(stack: CampaignStack, organization: string): Promise<Latest> {
  const kafka = kafkaOf(stack)
  const admin = kafka.admin()
  await admin.connect()
  const end = Number((await admin.fetchTopicOffsets(CATALOG))[0]?.high)
  await admin.disconnect()
  const consumer = kafka.consumer({ groupId: `faults-${crypto.randomUUID()}`, maxWaitTimeInMs: 100 })
  await consumer.connect()
  await consumer.subscribe({ topic: CATALOG, fromBeginning: true })
  const latest = await new Promise<Latest | undefined>((resolve) => {
    let found: Latest | undefined
    void consumer.run({
      autoCommit: false,
      eachMessage: async ({ message: { key, value, headers = {}, offset } }) => {
        const text = value?.toString() ?? ''
        if (key && (JSON.parse(text || '{}') as Partial<CatalogRecord>).organization === organization)
          found = { key, value: text, headers }
        if (Number(offset) + 1 >= end) resolve(found)
      },
    })
  })
  await consumer.disconnect()
  if (!latest) throw new Error(`The catalog has no record of ${organization}`)
  return latest
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
