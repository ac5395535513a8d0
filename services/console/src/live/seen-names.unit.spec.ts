import { expect, it } from 'vitest'
import type { LiveEntry } from './api.ts'
import { createSeenNames } from './seen-names.ts'

const entryOf = (userId: string | null, userName: string | null) => ({ userId, userName }) as LiveEntry

it('the seen names are those of the latest users, up to the capacity', () => {
  const names = createSeenNames(2)
  const nameOf = (userId: string) => names.name(entryOf(userId, null)).userName
  names.learn([entryOf('1', 'ada'), entryOf('2', 'bob'), entryOf('2', null), entryOf(null, null)])
  expect([nameOf('1'), nameOf('2'), nameOf('3')]).toEqual(['ada', 'bob', null])
  names.learn([entryOf('1', 'ada'), entryOf('3', 'cyd')])
  expect([nameOf('1'), nameOf('2'), nameOf('3')]).toEqual(['ada', null, 'cyd'])
  expect(names.name(entryOf('1', 'Ada')).userName).toBe('Ada')
})
