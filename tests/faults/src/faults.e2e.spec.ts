import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeAudit } from './audit.suite.ts'
import { SHORT_FAULTS } from './faults.ts'
import { type CampaignContext, runShort, startCampaign } from './run-seed.ts'

const seed = randomInt(1, 1_000_000)
let campaign: CampaignContext

beforeAll(async () => {
  campaign = await startCampaign(seed, { isCheap: true })
}, 180_000)
afterAll(() => campaign?.stack.remove(), 60_000)

// Runs before the faults, because the audit judges each of them.
describeAudit(() => campaign)

/** Runs the short form of `pnpm faults`. It checks only correctness, because a busy machine misses bounds of time. */
it('the system loses and doubles no record during faults', { timeout: 600_000 }, async () => {
  console.log(`npx -y pnpm faults --short --seed ${seed}`)
  const results = await runShort({ seed, faults: SHORT_FAULTS, campaign })
  expect(
    results.filter(({ differences }) => differences.length > 0),
    `seed ${seed}`,
  ).toEqual([])
  expect(
    results.filter(({ witness }) => witness === undefined).map(({ fault }) => fault),
    'every fault struck',
  ).toEqual([])
  const requests = results.reduce((sum, result) => sum + result.requests, 0)
  const unknown = results.reduce((sum, result) => sum + result.unknown, 0)
  expect(requests - unknown, 'the load was real').toBeGreaterThan(200)
})
