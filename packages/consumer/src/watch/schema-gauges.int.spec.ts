import { sql } from '@nextvisit/database'
import { openTestDb } from '@nextvisit/database/testing'
import { createPublisher } from '@nextvisit/log'
import { createLogger, createMetrics } from '@nextvisit/service-kit'
import { givenScrape } from '@nextvisit/service-kit/test/given-scrape.ts'
import { describe, expect, it, onTestFinished } from 'vitest'
import { givenFreezablePostgres } from '../../test/freezable-postgres.ts'
import { givenEvents, givenFaultProxy, givenLog, type GivenLog } from '../../test/given-log.ts'
import { givenRunner } from '../../test/given-runner.ts'
import { givenVisitsDatabase } from '../../test/given-visits.ts'
import { createSchemaGauges } from './schema-gauges.ts'

const SOON = { timeout: 30_000 }

/** A publisher whose broker can be cut off. */
async function givenCutPublisher(log: GivenLog) {
  const { proxy, connection } = await givenFaultProxy(log.connection)
  const publisher = createPublisher(connection)
  await publisher.start()
  onTestFinished(() => publisher.stop(1_000))
  return { publisher, proxy }
}

describe('the gauges of waiting rows (metrics.md, Consumers)', () => {
  it('show the number of records in the outbox and the age of the oldest, until they are published', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    const metrics = createMetrics('spec')
    const scrape = await givenScrape(metrics)
    const { publisher, proxy } = await givenCutPublisher(log)
    proxy.setLink('refuse')
    await givenRunner(log, db, { publisher, metrics })
    await log.publish(givenEvents(3))
    await expect.poll(() => scrape('projection_outbox_records'), SOON).toEqual({ projection_outbox_records: 3 })

    await db.$executeRaw(sql`
      UPDATE outbox SET queued_at = now() - interval '1 hour' WHERE sequence = (SELECT max(sequence) FROM outbox)`)
    const { projection_outbox_seconds: age } = await scrape('projection_outbox_seconds')
    expect(age, 'of the oldest').toBeGreaterThanOrEqual(3_600)

    proxy.setLink('open')
    await expect
      .poll(() => scrape('projection_outbox_'), SOON)
      .toEqual({ projection_outbox_records: 0, projection_outbox_seconds: 0 })
  })

  it('show the number of dead letters', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    const metrics = createMetrics('spec')
    const scrape = await givenScrape(metrics)
    await givenRunner(log, db, { metrics })
    await log.publish([], ['not a record', 'nor this'])
    await expect
      .poll(() => scrape('projection_dead_letters{'), SOON)
      .toEqual({ 'projection_dead_letters{state="dead"}': 2, 'projection_dead_letters{state="retry"}': 0 })
  })

  it('have no sample, rather than 0, while Postgres does not answer', async () => {
    const { name } = await givenVisitsDatabase()
    const { url, freeze } = await givenFreezablePostgres(name)
    const db = openTestDb(url, 'visits')
    const metrics = createMetrics('spec')
    createSchemaGauges({ db, projection: 'visits', registry: metrics, logger: createLogger('spec', 'silent') })
    const scrape = await givenScrape(metrics)
    expect(Object.keys(await scrape('projection_'))).toHaveLength(4)
    freeze()
    expect(await scrape('projection_')).toEqual({})
  })
})
