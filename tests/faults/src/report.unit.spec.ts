import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { FaultResult } from './fault-result.ts'
import { reportOf } from './report.ts'

const REFERENCE = path.resolve(import.meta.dirname, '../../../docs/reference')

const result = (over: Partial<FaultResult>): FaultResult => ({
  fault: 'kill gateway',
  family: 'kill',
  seed: 1,
  witness: 'process 1 became 2',
  requests: 100,
  unknown: 3,
  needless: 0,
  longestMs: 100,
  recoveryMs: 0,
  atRestMs: 900,
  tookMs: 4_000,
  differences: [],
  ...over,
})

describe('the tables of the faults', () => {
  it('show the worst of all seeds and mark values beyond their bounds', () => {
    const results = [
      result({ seed: 1, failoverMs: 11_000, longestMs: 2_400 }),
      result({ seed: 2, failoverMs: 15_100, longestMs: 2_300, roomFreeMs: 52_000 }),
    ]
    expect(reportOf(results)).toContain(
      '| kill gateway | 2 | 200 | 6 | 0 | 2.4 | 0.0 | 15.1 **!** |  |  |  |  | 52.0 | 0.9 | process 1 became 2 |',
    )
    expect(reportOf(results)).toContain(
      'Seeds 1–2: 2 runs, 2 of which struck; 200 requests; 0 runs with a difference, 1',
    )
  })

  it('show one line per family, with the seeds', () => {
    const differences = [{ kind: 'lost', count: 2, examples: [] }]
    const report = reportOf([
      result({ seed: 1 }),
      result({ seed: 2, fault: 'kill redis', witness: undefined, differences }),
      result({ seed: 4, fault: 'freeze redis', family: 'freeze', growthMb: 25 }),
    ])
    const families = report.slice(0, report.indexOf('## By fault'))
    expect(families).toContain('Seeds 1–2, 4: 3 runs, 2 of which struck; 300 requests; 1 runs with a difference')
    expect(families).toContain('| kill | 2 | 200 | 6 | 2 | 0.1 |')
    expect(families).toContain('| freeze | 1 | 100 | 3 | 0 | 0.1 | 0.0 |  |  | 25 **!** |')
    expect(families).not.toContain('kill redis')
  })

  it('are committed as the results in faults.json render; if not: npx -y pnpm faults --render', () => {
    const results = JSON.parse(readFileSync(path.join(REFERENCE, 'faults.json'), 'utf8')) as FaultResult[]
    expect(readFileSync(path.join(REFERENCE, 'faults.md'), 'utf8')).toBe(reportOf(results))
  })
})
