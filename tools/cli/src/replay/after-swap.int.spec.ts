import { givenEvents, givenLog } from '@nextvisit/consumer/test/given-log.ts'
import { givenRunner } from '@nextvisit/consumer/test/given-runner.ts'
import { countVisits } from '@nextvisit/consumer/test/visits-projection.ts'
import { createLogger } from '@nextvisit/service-kit'
import { describe, expect, it } from 'vitest'
import { givenVisitsReplay } from '../../test/given-replay.ts'

const soon = { timeout: 20_000 }

describe('a projection runner whose read models a replay has swapped', () => {
  it('logs the swap as normal, and continues', async () => {
    const log = await givenLog()
    const { db, replay } = await givenVisitsReplay(log)
    const lines: { readonly level: string; readonly msg: string }[] = []
    const write = (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number])
    await givenRunner(log, db, { logger: createLogger('spec', 'info', { write }) })
    await log.publish(givenEvents(40))
    await expect.poll(() => countVisits(db), soon).toBe(40)
    expect(await replay()).toMatchObject({ outcome: 'swapped' })
    await log.publish(givenEvents(40))
    await expect.poll(() => countVisits(db), soon).toBe(80)
    const swapped = lines.filter(({ msg }) => msg.startsWith('The read models were swapped by a replay'))
    expect(new Set(swapped.map(({ level }) => level))).toEqual(new Set(['info']))
    expect(lines.filter(({ msg }) => msg.startsWith('Another owner'))).toEqual([])
  })
})
