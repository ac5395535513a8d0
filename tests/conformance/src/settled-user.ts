import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { eventually } from '@nextvisit/testing/black-box'
import type { ApiAnswer, Caller } from './call.ts'

/**
 * Reads a user's read model with everything that was answered before. It identifies the user again and waits until
 * that is visible. Then all earlier records of the user are folded, too.
 */
export async function settledUser(caller: Caller, userName: string): Promise<ApiAnswer['body']> {
  await sleep(2) // later than the millisecond of the last answer
  const since = Date.now()
  expect((await caller.identify({ userName })).status, `${userName} is identified again`).toBe(200)
  const isSettled = ({ body }: ApiAnswer) => Date.parse(String(body['lastSeenAt'])) >= since
  const user = await eventually(() => caller.readUser(userName), isSettled, 10_000)
  expect(user, `${userName} is folded`).toSatisfy(isSettled)
  return user.body
}
