import { unanswered } from './nextvisit-error.ts'
import { ANSWER_WITHIN_MS, type AnswerBody, type SendRequest } from './request.ts'
import { retryDelayMs } from './retry.ts'

/** Reads a user, and tries until the deadline. Resolves to the answer with its `status`; rejects with a NextvisitError. */
export async function getUser(sendRequest: SendRequest, userName: string, deadlineMs: number): Promise<AnswerBody> {
  const dueAt = performance.now() + deadlineMs
  const path = `/v2/admin/users?userName=${encodeURIComponent(userName)}`
  for (let failures = 1; ; failures += 1) {
    const withinMs = Math.min(ANSWER_WITHIN_MS, dueAt - performance.now())
    const attempt = await sendRequest({ path, withinMs, controller: new AbortController() })
    if (attempt.outcome === 'answered') return { ...attempt.body, status: attempt.status }
    const pauseMs = retryDelayMs(failures, attempt.retryAfterMs, Math.random())
    if (performance.now() + pauseMs >= dueAt)
      throw unanswered(`There was no answer within ${deadlineMs} ms`, [], attempt.cause)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
