import type { KeptRefusal } from '@nextvisit/contracts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createGatheredRefusals, GATHERED } from './gathered-refusals.ts'

const describeAs = (reason: string) => (): KeptRefusal => ({
  id: '019a4423-5b80-7cc1-8f5d-0c2f6a1b7e44',
  at: '2026-11-02T10:00:00.000Z',
  reason,
  status: 400,
  message: reason,
  route: '/v2/admin/batch',
  requestId: '019a4423-5b7e-7a10-9d1c-64a2f0c1d9b3',
  key: { name: 'backend', kind: 'admin', environment: 'P' },
})

describe('refusals between two flushes (decisions.md, Refusals)', () => {
  it('are bounded by reason, project and number of projects, and all of a project are counted', () => {
    const projects = fc.integer({ min: 1, max: GATHERED.projects + 3 })
    const flood = fc.record({ reasons: fc.integer({ min: 1, max: 15 }), each: fc.integer({ min: 1, max: 13 }) })
    fc.assert(
      fc.property(projects, flood, (projectCount, { reasons, each }) => {
        const gathered = createGatheredRefusals()
        let described = 0
        let dropped = 0
        for (let project = 0; project < projectCount; project += 1)
          for (let count = 0; count < reasons * each; count += 1) {
            const reason = `r${count % reasons}`
            const describeOne = () => {
              described += 1
              return describeAs(reason)()
            }
            if (gathered.add({ organization: 'o', project: `p${project}` }, reason, describeOne) === 'dropped')
              dropped += 1
          }
        const taken = gathered.take()
        expect(taken).toHaveLength(Math.min(projectCount, GATHERED.projects))
        expect(dropped).toBe((projectCount - taken.length) * reasons * each)
        for (const { counts, kept } of taken) {
          expect([...counts.values()]).toEqual(Array.from({ length: reasons }, () => each))
          expect(kept).toHaveLength(Math.min(GATHERED.ofProject, reasons * Math.min(each, GATHERED.ofReason)))
        }
        expect(described).toBe(taken.reduce((sum, { kept }) => sum + kept.length, 0))
      }),
      { numRuns: 30 },
    )
  })

  it('of a quiet project survive the flood of another', () => {
    const gathered = createGatheredRefusals()
    for (let count = 0; count < 10_000; count += 1)
      gathered.add({ organization: 'loud', project: 'shop' }, `r${count % 50}`, describeAs('r'))
    gathered.add({ organization: 'quiet', project: 'shop' }, 'user', describeAs('user'))
    expect(gathered.take().find(({ organization }) => organization === 'quiet')?.kept).toHaveLength(1)
  })

  it('are flushed once', () => {
    const gathered = createGatheredRefusals()
    gathered.add({ organization: 'o', project: 'p' }, 'user', describeAs('user'))
    expect(gathered.take()).toHaveLength(1)
    expect(gathered.take()).toEqual([])
  })
})
