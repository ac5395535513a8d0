import { setTimeout as sleep } from 'node:timers/promises'
import { userIdFixture } from '@nextvisit/contracts/fixtures'
import { createPublisher, type LogConnection } from '@nextvisit/log'
import { createLogger } from '@nextvisit/service-kit'
import { addPartitions, createTestTopic } from '@nextvisit/testing'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { createRecordLog } from './record-log.ts'

const ADA = userIdFixture('ada')
const RUNBOOK = 'docs/runbooks/partitions.md'

async function givenTopic(partitions: number) {
  return createTestTopic(inject('kafkaBrokers'), { partitions })
}

async function startLog(connection: LogConnection, topic: string) {
  const publisher = createPublisher(connection)
  const log = createRecordLog({
    connection,
    publisher,
    topic,
    logger: createLogger('spec', 'silent'),
    onState: () => {},
  })
  await log.start()
  onTestFinished(log.stop)
  return log
}

const soon = { timeout: 20_000 }

describe('the log of a gateway, when a topic has another number of partitions (design.md, Known hazards)', () => {
  it('takes nothing more once partitions were added, and says what to read', async () => {
    const { topic, connection } = await givenTopic(3)
    const log = await startLog(connection, topic)
    await expect.poll(() => log.placeOf(ADA), soon).toBeDefined()
    await addPartitions(connection, topic, 6)
    await expect.poll(() => log.placeOf(ADA), soon).toBeUndefined()
    expect(log.unavailableReason()).toBe(`${topic} has 6 partitions, not 3: see ${RUNBOOK}`)
  })

  it.each([2, 6])('takes nothing from its start on where there are %i instead of three', async (found) => {
    const { topic, connection } = await givenTopic(found)
    const log = await startLog({ ...connection, partitions: { keys: 3, inTopic: 3 } }, topic)
    await expect.poll(log.unavailableReason, soon).toContain(RUNBOOK)
    await sleep(1_500)
    expect(log.placeOf(ADA)).toBeUndefined()
  })

  it('goes on with the first ones where an operator has said so', async () => {
    const { topic, connection } = await givenTopic(6)
    const [before, after] = [await givenTopic(3), { keys: 3, inTopic: 6 }]
    const log = await startLog({ ...connection, partitions: after }, topic)
    const former = await startLog(before.connection, before.topic)
    await expect.poll(() => log.placeOf(ADA), soon).toBeDefined()
    await expect.poll(() => former.placeOf(ADA), soon).toEqual(log.placeOf(ADA))
  })
})
