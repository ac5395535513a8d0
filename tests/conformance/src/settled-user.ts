import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { eventually } from '@nextvisit/testing/black-box'
import type { Answer, Caller } from './call.ts'

/**
 * A user's read model with everything in it that was answered before: identifies once more, and waits until that is
 * seen. What came before for the same user is folded then.
 */
export async function settledUser(caller: Caller, userName: string): Promise<Answer['body']> {
  await sleep(2) // past the millisecond of what was answered last
  const since = Date.now()
  expect((await caller.identify({ userName })).status, `${userName} is identified once more`).toBe(200)
  const isSettled = ({ body }: Answer) => Date.parse(String(body['lastSeenAt'])) >= since
  const user = await eventually(() => caller.readUser(userName), isSettled, 10_000)
  expect(user, `${userName} is folded`).toSatisfy(isSettled)
  return user.body
}
