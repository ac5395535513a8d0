import { randomUUID } from 'node:crypto'
import { createTestTopic } from '@nextvisit/testing'
import { describe, expect, inject, it } from 'vitest'
import { withLogAdmin } from './with-log-admin.ts'
import { UnsafeClusterError } from '../errors.ts'
import { type ClusterCheckOptions, createClusterCheck } from './cluster-check.ts'

const brokers = inject('kafkaBrokers')

function givenCheck(topic: string, unsafe: ClusterCheckOptions['unsafe']) {
  const lines: { readonly level: string; readonly fields: object; readonly message: string }[] = []
  const write = (level: string) => (fields: object, message: string) => void lines.push({ level, fields, message })
  const found: Error[] = []
  const logger = { info: write('info'), warn: write('warn'), error: write('error'), debug: write('debug') }
  const connection = { brokers: brokers.split(','), clientId: 'test' }
  const check = createClusterCheck(connection, {
    topics: [topic],
    unsafe,
    logger,
    onUnsafe: (error) => found.push(error),
  })
  return { check, lines, found, connection }
}

describe('the cluster check of a single broker', () => {
  it('refuses to start in production and names each setting, its value, its topics and the required value', async () => {
    const { topic } = await createTestTopic(brokers)
    const { check, lines } = givenCheck(topic, 'refuse')
    const refusal = await check.start().catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(UnsafeClusterError)
    expect(String(refusal)).toContain('change replication.factor, min.insync.replicas, retention.ms')
    expect(lines).toContainEqual({
      level: 'error',
      fields: { topics: topic, because: 'a broker that is lost takes acknowledged records with it' },
      message: 'replication.factor is 1, must be 3 or more',
    })
  })

  it('logs one warning outside production', async () => {
    const { topic } = await createTestTopic(brokers)
    const { check, lines } = givenCheck(topic, 'warn')
    await check.start()
    await check.stop()
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({
      level: 'warn',
      fields: { settings: expect.stringContaining('replication.factor is 1, not 3 or more; min.insync.replicas is 1') },
    })
  })

  it('starts without topics and checks them as soon as they exist', async () => {
    const topic = `later.${randomUUID()}`
    const { check, found, connection } = givenCheck(topic, 'refuse')
    await check.start()
    await withLogAdmin(connection, (admin) => admin.createTopic(topic, { partitions: 1 }))
    await expect.poll(() => found, { timeout: 20_000 }).toHaveLength(1)
    await check.stop()
  })
})
