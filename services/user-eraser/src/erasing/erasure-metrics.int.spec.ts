import { randomUUID } from 'node:crypto'
import { givenScrape } from '@nextvisit/service-kit/test/given-scrape.ts'
import { describe, expect, it } from 'vitest'
import { newKey } from '../../test/given-eraser.ts'
import { givenErasures, startWork } from '../../test/given-work.ts'
import { insertLeftKeys } from './key-rows.ts'

const PATIENT = { timeout: 40_000 }

describe('the metrics of erasures (metrics.md, User eraser)', { timeout: 120_000 }, () => {
  it('show running erasures, the age of the oldest, its incomplete stores, and keys that are not destroyed', async () => {
    const given = await givenErasures()
    const scrape = await givenScrape(given.parts.metrics)
    let isOwner = false
    await startWork(given, { arePassed: () => false, owns: () => isOwner })
    expect(await scrape('nextvisit_erasures_')).toMatchObject({
      nextvisit_erasures_running: 0,
      nextvisit_erasures_oldest_seconds: 0,
      nextvisit_erasures_keys_left: 0,
      'nextvisit_erasures_incomplete{store="metering"}': 0,
      'nextvisit_erasures_failures_total{step="user-keys"}': 0,
    })
    expect(await scrape('nextvisit_erasures_key_retention')).toMatchObject({
      nextvisit_erasures_key_retention_seconds: expect.any(Number),
    })

    const key = newKey(randomUUID())
    await given.db.executeAll(insertLeftKeys(0, [{ ...key, fingerprint: '' }]))
    await given.givenErasure(randomUUID(), { requestedAt: new Date(Date.now() - 61_000) })
    await given.givenErasure(key.userId)
    // Only now: a scan without the erasure, which waits, would find that the topic has no such key.
    isOwner = true
    await expect
      .poll(() => scrape('nextvisit_erasures_'), PATIENT)
      .toMatchObject({
        nextvisit_erasures_running: 2,
        nextvisit_erasures_keys_left: 1,
        'nextvisit_erasures_incomplete{store="metering"}': 1,
        'nextvisit_erasures_incomplete{store="user-events"}': 0,
      })
    const { nextvisit_erasures_oldest_seconds: age } = await scrape('nextvisit_erasures_oldest')
    expect(age).toBeGreaterThan(60)
  })

  it('count the failures of each step', async () => {
    const given = await givenErasures()
    await given.logAdmin.deleteTopic(given.topic)
    const scrape = await givenScrape(given.parts.metrics)
    await startWork(given)
    const failures = async () => (await scrape('nextvisit_erasures_failures'))[FAILURES]
    await expect.poll(failures, PATIENT).toBeGreaterThan(1)
  })
})

const FAILURES = 'nextvisit_erasures_failures_total{step="user-keys"}'
