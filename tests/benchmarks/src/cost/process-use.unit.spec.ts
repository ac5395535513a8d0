import { expect, it } from 'vitest'
import { parseMachineStat, parseProcessStat, useOf } from './process-use.ts'

/**
 * Returns a stat line: pid, name, state, parent; fields 14 to 17 are times of the process and its ended children, 24
 * its pages.
 */
function statLine(pid: number, parent: number, name: string): string {
  return `${pid} (${name}) S ${parent} 1 1 0 -1 4194560 5 0 0 0 150 50 20 10 20 0 12 0 5000 1000000 256 18446744073709551615 1`
}

it('a process reading contains CPU time including ended children, and resident memory', () => {
  expect(parseProcessStat(statLine(7, 1, 'postgres: a) b (c'))).toEqual({
    pid: 7,
    parent: 1,
    cpuSeconds: 2.3,
    residentBytes: 2 ** 20,
  })
})

it('the use of a process includes its descendants, and nothing else', () => {
  const rows = [
    statLine(1, 0, 'init'),
    statLine(7, 1, 'a'),
    statLine(8, 7, 'b'),
    statLine(9, 8, 'c'),
    statLine(6, 1, 'd'),
  ]
  const use = useOf(7, rows.map(parseProcessStat))
  expect(use.cpuSeconds).toBeCloseTo(3 * 2.3)
  expect(use.residentBytes).toBe(2 ** 20)
  expect(useOf(99, [])).toEqual({ cpuSeconds: 0, residentBytes: 0 })
})

it('the CPU time of the whole machine excludes idle time', () => {
  expect(parseMachineStat('cpu  100 10 50 9000 800 5 5 30 100 0\ncpu0 1 1 1 1')).toBe(2)
})
