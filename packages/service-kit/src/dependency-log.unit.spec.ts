import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createDependencyLog } from './dependency-log.ts'

const DOWN = 'metering does not answer'
const UP = 'metering answers again'

/** A log of the dependency `metering`, on a clock that the spec moves. */
function givenLog() {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const logged: string[] = []
  const write = (_fields: object, line: string) => void logged.push(line)
  const log = createDependencyLog({ warn: write, info: write }, () => Date.now())
  const note = log.noteOf('metering', 'reads')
  return {
    logged,
    note,
    noteOf: log.noteOf,
    wait: (ms: number) => vi.advanceTimersByTime(ms),
    flap: (times: number) => {
      for (let nth = 0; nth < times; nth += 1) for (const isAnswered of [false, false, false, true]) note(isAnswered)
    },
  }
}

describe('the log of a dependency', () => {
  it('has one line when it stops answering, and one when it answers again', () => {
    const { logged, note } = givenLog()
    for (const isAnswered of [true, false, false, false, false, false]) note(isAnswered)
    expect(logged).toEqual([DOWN])
    for (const isAnswered of [true, true]) note(isAnswered)
    expect(logged).toEqual([DOWN, UP])
  })

  it('has a line, too, if calls are rare', () => {
    const { logged, note, wait } = givenLog()
    note(false)
    wait(4_000)
    note(false)
    expect(logged).toEqual([])
    wait(2_000)
    note(false)
    expect(logged).toEqual([DOWN])
  })

  it('has no line for single failures', () => {
    const { logged, note, wait } = givenLog()
    for (let nth = 0; nth < 20; nth += 1) {
      note(false)
      wait(10_000)
      note(true)
    }
    expect(logged).toEqual([])
  })

  it('has a line if no part answers, however rarely each is asked', () => {
    const { logged, noteOf } = givenLog()
    for (const part of ['replies, 1', 'replies, 2', 'replies, 3']) noteOf('metering', part)(false)
    expect(logged).toEqual([DOWN])
    noteOf('metering', 'replies, 4')(true)
    expect(logged).toEqual([DOWN, UP])
  })

  it('has one line for all parts, and none about a part that is no longer asked', () => {
    const { logged, noteOf, wait } = givenLog()
    const parts = ['replies, 1', 'replies, 2'].map((part) => noteOf('metering', part))
    for (const note of parts) for (let nth = 0; nth < 5; nth += 1) note(false)
    expect(logged).toEqual([DOWN])
    parts[0]?.(true)
    expect(logged).toEqual([DOWN])
    wait(31_000)
    parts[0]?.(true)
    expect(logged).toEqual([DOWN, UP])
  })

  it('has few lines about one that flaps, and ends with its state', () => {
    const { logged, note, flap, wait } = givenLog()
    flap(50)
    expect(logged).toEqual([DOWN, UP, DOWN, UP])
    for (let nth = 0; nth < 3; nth += 1) note(false)
    wait(60_000)
    expect(logged).toEqual([DOWN, UP, DOWN, UP, DOWN])
  })
})
