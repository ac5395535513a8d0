import { expect, it } from 'vitest'
import { createRevisionWait } from './revision-wait.ts'

it('holds no more back than it can keep: of the oldest it is never learnt', () => {
  const wait = createRevisionWait()
  const settled: (readonly [number, string])[] = []
  const verdicts = [
    { first: 1, last: 1, verdict: 'not asked' },
    { first: 2, last: 2, verdict: 'queue' },
  ] as const
  for (let record = 0; record <= 10_000; record++) {
    const onSettled = (verdict: string) => settled.push([record, verdict])
    wait.ask({ partition: 0, organization: 'acme', from: 1, until: 1, verdicts, onSettled })
  }
  expect(settled).toHaveLength(5_000)
  expect(settled.at(-1)).toEqual([4_999, 'unsure'])
  wait.learn(0, 'acme', 2)
  expect(settled).toHaveLength(10_001)
})
