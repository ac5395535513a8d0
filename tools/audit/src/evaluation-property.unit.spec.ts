import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { auditHistory } from '../test/audit-history.ts'
import { histories } from '../test/stories.ts'

it('the audit finds nothing in any history that follows the rules of the domain', { timeout: 120_000 }, async () => {
  let decided = 0
  let undecided = 0
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      const report = await auditHistory(history)
      decided += report.decided
      undecided += report.undecided
      expect(report.findings).toEqual([])
    }),
    { numRuns: 100 },
  )
  expect(decided).toBeGreaterThan(500)
  expect(undecided).toBeLessThan(decided / 10)
})
