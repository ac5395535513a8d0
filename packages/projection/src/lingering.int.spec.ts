import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { givenEvents, givenLog } from '../test/given-log.ts'
import { givenRunner } from '../test/given-runner.ts'
import { givenVisitsDatabase } from '../test/given-visits.ts'
import { countVisits } from '../test/visits-projection.ts'

const FOR_EVER_MS = 600_000
const ofOneUser = (count: number) => givenEvents(count, () => 'ada')

describe('lingering', () => {
  it('lets a few records gather, while another that does not linger has folded them', async () => {
    const log = await givenLog()
    const [lingering, prompt] = [await givenVisitsDatabase(), await givenVisitsDatabase()]
    await log.publish(ofOneUser(3))
    const { runner } = await givenRunner(log, lingering.db, { lingerMs: FOR_EVER_MS })
    await givenRunner(log, prompt.db, { lingerMs: 0, groupId: `prompt.${log.topic}` })
    await expect.poll(() => countVisits(prompt.db), { timeout: 20_000 }).toBe(3)
    const lag = () => runner.progress().reduce((sum, { lagRecords }) => sum + Number(lagRecords), 0)
    await expect.poll(lag, { timeout: 20_000 }).toBe(3)
    await sleep(1_000) // without lingering they would be folded in milliseconds
    expect(await countVisits(lingering.db)).toBe(0)
    await runner.stop()
    await givenRunner(log, lingering.db, { lingerMs: 0 })
    await expect.poll(() => countVisits(lingering.db), { timeout: 20_000 }).toBe(3)
  })

  it('is not for many records', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    await log.publish(ofOneUser(150))
    await givenRunner(log, db, { lingerMs: FOR_EVER_MS })
    await expect.poll(() => countVisits(db), { timeout: 20_000 }).toBe(150)
  })
})
