import { expect, it } from 'vitest'
import { checkSegments } from './check-segments.ts'

it('the check of segments follows a cycle of segments that is longer than the call stack', () => {
  const length = 5_000
  const segments = Array.from({ length }, (_, at) => ({ id: `s${at}`, where: { segment: `s${(at + 1) % length}` } }))
  const [problem, ...others] = checkSegments({ path: [], value: { segments } })
  expect(problem?.path).toEqual(['segments', 0])
  expect(problem?.message).toMatch(/^segment s0 refers to itself: s0 → s1 → .* → s4999 → s0$/)
  expect(others).toEqual([])
})
