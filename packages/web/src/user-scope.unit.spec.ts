import { expect, it } from 'vitest'
import { userScope } from './user-scope.ts'

it('the scope of a user differs by user and by key, and does not contain the userName', () => {
  const userNames = Array.from({ length: 20_000 }, (_, number) => `user-${number}@example.com`)
  const scopes = new Set(userNames.flatMap((userName) => [userScope('one', userName), userScope('other', userName)]))
  expect(scopes.size).toBe(2 * userNames.length)
  expect([...scopes].every((scope) => /^[0-9a-z]+-[0-9a-z]+$/.test(scope))).toBe(true)
})
