import { describe, expect, it } from 'vitest'
import { checkImportLine } from '../import-line.ts'
import type { ExportedUser } from './export-line.ts'
import { createMergedUsers } from './merged-users.ts'

const MINUTE_MS = 60_000
const NOW = Date.UTC(2026, 0, 1)

function userAt(minute: number, members: Partial<ExportedUser> = {}): ExportedUser {
  return { userName: 'ada', atMs: minute * MINUTE_MS, set: {}, setOnce: {}, device: {}, droppedTraits: 0, ...members }
}

function merge(...users: readonly ExportedUser[]) {
  const merged = createMergedUsers()
  users.forEach((user, index) => merged.add(user, index + 1))
  return [...merged.identifies()]
}

const lines = (...users: readonly ExportedUser[]) => merge(...users).map(({ members }) => members)
const traits = (from: number) => Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`t${from + n}`, n]))
const minute = (text: number) => new Date(text * MINUTE_MS).toISOString()

describe('the users of an export', () => {
  it('are identified as of their last line, and then of their first', () => {
    expect(lines(userAt(3), userAt(1), userAt(2))).toEqual([
      { type: 'identify', userName: 'ada', occurredAt: minute(3), userAttributes: { $set: {} }, $deviceInfo: {} },
      { type: 'identify', userName: 'ada', occurredAt: minute(1) },
    ])
  })

  it('were first seen when the product had created them', () => {
    expect(lines(userAt(3, { createdMs: MINUTE_MS })).at(-1)).toMatchObject({ occurredAt: minute(1) })
    expect(lines(userAt(3, { createdMs: 9 * MINUTE_MS }))).toHaveLength(1)
  })

  it('have the newest traits, in any order of lines, and of two at once the later line', () => {
    const [first] = lines(
      userAt(2, { set: { plan: 'pro', seats: 1 }, device: { $browser: 'Firefox' } }),
      userAt(1, { set: { plan: 'free', city: 'Berlin' }, device: { $browser: 'Safari' } }),
      userAt(2, { set: { seats: 2 } }),
    )
    expect(first).toMatchObject({
      userAttributes: { $set: { plan: 'pro', seats: 2, city: 'Berlin' } },
      $deviceInfo: { $browser: 'Firefox' },
    })
  })

  it('have the oldest traits of those that are set once, unless another line sets them', () => {
    const [first] = lines(
      userAt(2, { setOnce: { source: 'mail', plan: 'free' } }),
      userAt(1, { setOnce: { source: 'ad' } }),
      userAt(0, { set: { plan: 'pro' } }),
    )
    expect(first).toMatchObject({ userAttributes: { $set: { source: 'ad', plan: 'pro' } } })
  })

  it('have present traits before those with a time, and no time if no line has one', () => {
    const present = userAt(0, { atMs: undefined, set: { plan: 'pro' }, setOnce: { source: 'mail' } })
    expect(lines(present)).toMatchObject([{ userAttributes: { $set: { plan: 'pro', source: 'mail' } } }])
    expect(lines(present)[0]).not.toHaveProperty('occurredAt')
    const dated = userAt(2, { set: { plan: 'free' }, setOnce: { source: 'ad' } })
    for (const given of [
      [present, dated],
      [dated, present],
    ])
      expect(lines(...given)).toMatchObject([
        { occurredAt: minute(2), userAttributes: { $set: { plan: 'pro', source: 'ad' } } },
      ])
  })

  it('may have more traits than one identify', () => {
    const found = lines(userAt(1, { set: traits(0) }), userAt(1, { set: traits(200) }))
    expect(found).toHaveLength(2)
    const slugs = found.flatMap((line) => Object.keys((line['userAttributes'] as { $set: object }).$set))
    expect(new Set(slugs).size).toBe(400)
    for (const line of found) expect(checkImportLine(line, NOW)).toMatchObject({ outcome: 'ok' })
  })

  it('may have traits that are too long for one record', () => {
    const set = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`t${n}`, 'x'.repeat(500)]))
    const sizes = lines(userAt(1, { set })).map((line) => JSON.stringify(line).length)
    expect(sizes).toHaveLength(2)
    expect(Math.max(...sizes)).toBeLessThan(70_000)
  })

  it('name the last line of each, and take __proto__ for an ordinary name', () => {
    const __proto__ = JSON.parse('{"__proto__":"x"}') as Record<string, string>
    expect(merge(userAt(1), userAt(1, { userName: 'bob', set: __proto__ }), userAt(1))).toMatchObject([
      { lastLine: 3 },
      { lastLine: 2, members: { userAttributes: { $set: __proto__ } } },
    ])
  })
})
