import { expect, it } from 'vitest'
import { createRevisionWait } from './revision-wait.ts'

it('the wait for revisions keeps a bounded number of decisions; the oldest stay undecided', () => {
  const wait = createRevisionWait()
  const settled: (readonly [number, string])[] = []
  const verdicts = [
    { first: 1, last: 1, verdict: 'not triggered' },
    { first: 2, last: 2, verdict: 'queue' },
  ] as const
  for (let record = 0; record <= 10_000; record++) {
    const onSettled = (verdict: string) => settled.push([record, verdict])
    wait.enqueue({ partition: 0, organization: 'acme', from: 1, until: 1, verdicts, onSettled })
  }
  expect(settled).toHaveLength(5_000)
  expect(settled.at(-1)).toEqual([4_999, 'undecided'])
  wait.observe(0, 'acme', 2)
  expect(settled).toHaveLength(10_001)
})
