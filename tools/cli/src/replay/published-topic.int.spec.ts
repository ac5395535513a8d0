import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { offlineParts } from '@nextvisit/consumer'
import { givenLog } from '@nextvisit/consumer/test/given-log.ts'
import { visitsConsumer } from '@nextvisit/consumer/test/visits-consumer.ts'
import type { LostOffsets } from '@nextvisit/contracts'
import { withClient } from '@nextvisit/database'
import { publishCompressed } from '@nextvisit/log/test/publish-compressed.ts'
import { expect, it } from 'vitest'
import { givenVisitsReplay } from '../../test/given-replay.ts'
import { publishedTopic } from './published-topic.ts'

it('a batch of a published topic that cannot be decoded is passed and reported, also by a replay that resumes', async () => {
  const log = await givenLog()
  const { connection } = log
  const { db, adminUrl } = await givenVisitsReplay(log)
  const { schema, projection } = visitsConsumer(log.topic)
  const topic = `${log.topic}.out`
  await publishCompressed(connection, { topic, partition: 0 }, { records: 100_001 })
  const lost: LostOffsets[] = []
  await withClient(adminUrl, async (client) => {
    const source = publishedTopic(
      {
        client,
        db,
        schemas: { live: schema, rebuilt: schema },
        connection,
        catalog: staticCatalog([]),
        serviceVersion: 'spec',
        onProgress: () => {},
        onLost: (one) => void lost.push(one),
      },
      { ...projection(offlineParts(() => Promise.resolve(1))), topic },
    )
    await source.foldUp()
    await source.foldUp()
  })
  const whole = { topic, partition: 0, firstOffset: '0', lastOffset: '100000' }
  expect(lost).toEqual([whole, whole])
})
