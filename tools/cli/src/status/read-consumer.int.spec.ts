import { visitsConsumer } from '@nextvisit/consumer/test/visits-consumer.ts'
import { givenLog } from '@nextvisit/consumer/test/given-log.ts'
import { expect, it } from 'vitest'
import { givenVisitsReplay } from '../../test/given-replay.ts'
import { inConsumerDatabase } from '../environment/consumer-database.ts'
import { readConsumer } from './read-consumer.ts'

async function givenStatus() {
  const log = await givenLog()
  const consumer = visitsConsumer(log.topic)
  const { replay, asAdmin, url } = await givenVisitsReplay(log)
  const readLeft = async () => {
    const { leftSchemas } = await inConsumerDatabase({ DATABASE_URL: url }, consumer, (client) =>
      readConsumer(client, consumer),
    )
    return leftSchemas
  }
  return { replay, asAdmin, readLeft }
}

it('names the schema that an interrupted replay leaves, until a replay completes', async () => {
  const { replay, readLeft } = await givenStatus()
  await expect(replay({}, { onStep: () => Promise.reject(new Error('cut off')) })).rejects.toThrow('cut off')
  expect(await readLeft()).toEqual(['visits_replay'])
  await replay()
  expect(await readLeft()).toEqual([])
})

it('names no schema of a running replay', async () => {
  const { replay, readLeft } = await givenStatus()
  const found: (readonly string[])[] = []
  await replay({}, { onStep: async () => void found.push(await readLeft()) })
  expect(found.length).toBeGreaterThan(0)
  expect(found.flat()).toEqual([])
})

it('names the old read models that a swap could not drop', async () => {
  const { asAdmin, readLeft } = await givenStatus()
  await asAdmin('CREATE SCHEMA visits_replaced')
  expect(await readLeft()).toEqual(['visits_replaced'])
})
