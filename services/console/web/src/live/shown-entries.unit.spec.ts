import { describe, expect, it } from 'vitest'
import type { LiveEntry } from '../../../src/live/api.ts'
import { followed, MAX_SHOWN, NOTHING_SHOWN, type ShownEntries, withAnswer } from './shown-entries.ts'

const entryAt = (second: number): LiveEntry => ({
  id: `entry-${String(second).padStart(4, '0')}`,
  at: new Date(second * 1_000).toISOString(),
  kind: 'event',
  organization: 'demo',
  project: 'shop',
  userId: null,
  userName: null,
  title: 'Event',
  marks: [],
  refusal: null,
  requestId: null,
})
const ofUser = (second: number, userId: string): LiveEntry => ({ ...entryAt(second), userId, userName: userId })
const answerOf = (...seconds: number[]) => ({ entries: seconds.map(entryAt), skipped: 0 })
const secondsIn = (entries: ShownEntries['entries']) => entries.map(({ at }) => Date.parse(at) / 1_000)

describe('the entries that Live shows', () => {
  it('are listed once, newest first', () => {
    const once = withAnswer(NOTHING_SHOWN, answerOf(3, 1), false)
    expect(secondsIn(withAnswer(once, answerOf(2, 3, 4), false).entries)).toEqual([4, 3, 2, 1])
  })

  it('are bounded, and skipped ones are counted', () => {
    const many = answerOf(...Array.from({ length: MAX_SHOWN + 50 }, (_, second) => second))
    const shown = withAnswer(
      withAnswer(NOTHING_SHOWN, { ...many, skipped: 7 }, false),
      { ...answerOf(), skipped: 5 },
      true,
    )
    expect(shown.entries).toHaveLength(MAX_SHOWN)
    expect(secondsIn(shown.entries)[0]).toBe(MAX_SHOWN + 49)
    expect(shown.skipped).toBe(12)
  })

  it('do not change during a pause; following adds the entries since', () => {
    const before = withAnswer(NOTHING_SHOWN, answerOf(1), false)
    const paused = withAnswer(withAnswer(before, answerOf(2), true), answerOf(3), true)
    expect(paused.entries).toBe(before.entries)
    expect(secondsIn(paused.waiting)).toEqual([3, 2])
    const after = followed(paused)
    expect([secondsIn(after.entries), after.waiting]).toEqual([[3, 2, 1], []])
  })

  it.each([true, false])('lose the name of an erased user (paused: %s)', (isPaused) => {
    const before = withAnswer(NOTHING_SHOWN, { entries: [ofUser(2, 'bob'), ofUser(1, 'ada')], skipped: 0 }, false)
    const waits = withAnswer(before, { entries: [ofUser(3, 'ada')], skipped: 0 }, true)
    const erased = { ...ofUser(4, 'ada'), kind: 'erased' as const, userName: null }
    const { entries, waiting } = withAnswer(waits, { entries: [erased], skipped: 0 }, isPaused)
    expect([...entries, ...waiting].flatMap(({ userName }) => userName ?? [])).toEqual(['bob'])
  })
})
