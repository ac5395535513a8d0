import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import path from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { readEnvironment } from '../environment/config.ts'
import { readStatus } from '../status/read-status.ts'
import { migrate } from './migrate.ts'

const name = `nextvisit_test_${randomUUID().slice(0, 8)}`
const adminUrl = Object.assign(new URL(inject('databaseUrl')), { pathname: `/${name}` }).href
const unreadUrl = Object.assign(new URL(adminUrl), { pathname: `/${name}_unread` }).href
const MAIN = path.resolve(import.meta.dirname, '../main.ts')
let printed: string[] = []

async function query(url: string, text: string): Promise<readonly unknown[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

beforeAll(() => {
  vi.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line))
  vi.stubEnv('NEXTVISIT_DATA', '/nowhere')
  vi.stubEnv('DATABASE_URL', adminUrl)
  vi.stubEnv('KAFKA_BROKERS', '127.0.0.1:1')
})

afterAll(async () => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
  for (const own of [name, `${name}_unread`])
    await query(inject('databaseUrl'), `DROP DATABASE IF EXISTS ${own} WITH (FORCE)`)
})

describe('nextvisit migrate', () => {
  it('prepares every schema, each with a role that sees only its own, and can run again', async () => {
    await migrate({})
    expect(printed.splice(0)).toEqual([
      'user-projector: schema users is ready',
      'trait-registry: schema registry is ready',
      'metering: schema metering is ready',
      'form-trigger-evaluator: schema forms is ready',
      'answer-collector: schema answers is ready',
      'webhook-dispatcher: schema webhooks is ready',
      'user-eraser: schema erasures is ready',
    ])
    await migrate({ printAddresses: true })
    const addresses = new Map(printed.splice(0).map((line) => [line.split('=')[0], line.slice(line.indexOf('=') + 1)]))
    const metering = addresses.get('METERING_DATABASE_URL') ?? ''
    expect(await query(metering, 'SELECT count(*)::int AS n FROM metering.checkpoints')).toEqual([{ n: 0 }])
    await expect(query(metering, 'SELECT FROM forms.checkpoints')).rejects.toThrow('permission denied')
  })

  it('finishes if the reader of its output has closed the pipe', async () => {
    const env = { DATABASE_URL: unreadUrl, NEXTVISIT_DATA: '/nowhere' }
    const child = spawn(process.execPath, [MAIN, 'migrate'], { env })
    child.stdout.destroy()
    expect(await once(child, 'exit')).toEqual([0, null])
    const schemas = await query(
      unreadUrl,
      `SELECT FROM pg_namespace WHERE nspname IN ('users', 'registry', 'metering', 'forms')`,
    )
    expect(schemas).toHaveLength(4)
  })

  it('leaves schemas that nextvisit status can read, with or without the log', async () => {
    await query(
      adminUrl,
      `INSERT INTO metering.dead_letters (projection, topic, partition, "offset", headers, record_time, reason, service_version, state)
       SELECT 'metering', 'user-events', 0, n, '{}', now(), 'value is null', '1', state
       FROM unnest(ARRAY['dead', 'retry', 'retried', 'discarded']) WITH ORDINALITY AS letter (state, n)`,
    )
    const status = await readStatus(readEnvironment(), new Date())
    expect(status.log).toMatchObject({ status: 'away' })
    expect(status.consumers).toContainEqual({
      service: 'metering',
      status: 'available',
      lagRecords: null,
      lagSeconds: null,
      deadLetters: 2,
      outbox: { records: 0, seconds: 0 },
      alarms: [],
      leftSchemas: [],
    })
  })
})
