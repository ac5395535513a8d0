import { USER_KEYS_TOPIC } from '@nextvisit/contracts'
import { withLogAdmin } from '@nextvisit/log'
import { type OwnKafka, startOwnKafka } from '@nextvisit/testing/own-parts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runNextvisit } from '../../test/run-nextvisit.ts'

describe('nextvisit topics create', () => {
  let kafka: OwnKafka
  beforeAll(async () => {
    kafka = await startOwnKafka(2, 40_000)
  })
  afterAll(() => kafka?.stop())

  /** Runs the command, and returns its line about the topic of keys. */
  async function create(retention: Readonly<Record<string, string>>): Promise<string | undefined> {
    const [broker = ''] = kafka.connection.brokers
    const ended = await runNextvisit(['topics', 'create'], {
      KAFKA_BROKERS: broker,
      KAFKA_PARTITIONS: '2',
      ...retention,
    })
    expect(ended).toMatchObject({ exitCode: 0, stderr: '' })
    return ended.stdout.split('\n').find((line) => line.startsWith(USER_KEYS_TOPIC))
  }

  function settingsOfKeys() {
    return withLogAdmin(kafka.connection, (admin) => admin.settingsOf(USER_KEYS_TOPIC))
  }

  it('keeps the retention of keys while ERASURE_KEY_RETENTION is not set, or is empty', async () => {
    const before = await settingsOfKeys()
    expect(before.get('segment.ms')).toBe('10000')
    expect(await create({})).toBe('user-keys: exists')
    expect(await create({ ERASURE_KEY_RETENTION: '' })).toBe('user-keys: exists')
    expect(await settingsOfKeys()).toEqual(before)
  })

  it('changes the retention if it is set, and prints both', async () => {
    expect(await create({ ERASURE_KEY_RETENTION: '90m' })).toBe('user-keys: retention changed from 40s to 90m')
    expect(await create({ ERASURE_KEY_RETENTION: '90m' })).toBe('user-keys: exists')
    expect(await create({ ERASURE_KEY_RETENTION: '1d' })).toBe('user-keys: retention changed from 90m to 24h')
    expect((await settingsOfKeys()).get('segment.ms')).toBe('21600000')
  })

  it('repairs other settings of the topic if the retention is set', async () => {
    await withLogAdmin(kafka.connection, (admin) => admin.changeTopic(USER_KEYS_TOPIC, { 'cleanup.policy': 'delete' }))
    expect(await create({ ERASURE_KEY_RETENTION: '24h' })).toBe('user-keys: settings changed')
    expect((await settingsOfKeys()).get('cleanup.policy')).toBe('compact')
  })

  it('gives a topic without a retention that of 24 hours', async () => {
    await withLogAdmin(kafka.connection, async (admin) => {
      await admin.deleteTopic(USER_KEYS_TOPIC)
      await expect.poll(() => admin.partitionCount(USER_KEYS_TOPIC), { timeout: 20_000 }).toBe(0)
      await admin.createTopic(USER_KEYS_TOPIC, { partitions: 2 })
    })
    expect(await create({})).toBe('user-keys: retention set to 24h')
    expect((await settingsOfKeys()).get('segment.ms')).toBe('21600000')
  })
})
