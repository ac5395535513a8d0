import { toJson } from '@nextvisit/contracts/to-json'
import { checkObject } from './check-input.ts'
import { type CallItem, NextvisitError, unanswered } from './nextvisit-error.ts'
import type { AnswerBody } from './request.ts'
import type { IdentifyCall, TrackCall } from './results.ts'

/** Maximum length of a valid userName in code units: 255 characters. */
const MAX_USER_NAME_LENGTH = 510

/** A serialized call: all that is kept of it. */
export interface WrittenCall {
  /** The item as JSON in UTF-8, serialized once so that each try sends the same bytes. */
  readonly json: Uint8Array
  /** The userName, by which calls keep their order. Empty for invalid ones, which the gateway refuses. */
  readonly user: string
}

/** A call without an answer. */
export interface WaitingCall extends WrittenCall {
  /** Resolves to the answer; rejects with a NextvisitError. */
  readonly answered: Promise<AnswerBody>
  readonly answer: (result: AnswerBody) => void
  readonly fail: (message: string) => void
  /** Number of times that the gateway asked to send this item again. */
  attempts: number
  /** Instant before which it is not sent, by `performance.now()`. */
  sendFrom: number
  /** Failure of the latest try. */
  lastFailure?: Error
}

/** Serializes a call, and keeps a given idempotency key. Throws a NextvisitError if the call is invalid or not JSON. */
export function writeCall(type: CallItem['type'], call: IdentifyCall | TrackCall): WrittenCall {
  checkObject(type, 'an object with userName', call)
  const item = { ...call, type, idempotencyKey: call.idempotencyKey ?? crypto.randomUUID() } as CallItem
  const { userName } = item
  const isUser = typeof userName === 'string' && userName.length <= MAX_USER_NAME_LENGTH
  try {
    return { json: new TextEncoder().encode(toJson(item)), user: isUser ? userName : '' }
  } catch (cause) {
    throw new NextvisitError('NOT_JSON', (cause as Error).message, [item], cause)
  }
}

/** Parses a call again, for an error or a handler. */
export function itemOf({ json }: WrittenCall): CallItem {
  return JSON.parse(new TextDecoder().decode(json)) as CallItem
}

/** Starts waiting for the answer, for at most `deadlineMs`. */
export function waitForAnswer(written: WrittenCall, deadlineMs: number, onSettled: () => void): WaitingCall {
  let isSettled = false
  let resolve!: (result: AnswerBody) => void
  let reject!: (error: NextvisitError) => void
  const answered = new Promise<AnswerBody>((...settlers) => ([resolve, reject] = settlers))
  const settle = (how: () => void): void => {
    if (isSettled) return
    isSettled = true
    clearTimeout(timer)
    how()
    onSettled()
  }
  const call: WaitingCall = {
    ...written,
    answered,
    answer: (result) => settle(() => resolve(result)),
    fail: (message) => settle(() => reject(unanswered(message, () => [itemOf(written)], call.lastFailure))),
    attempts: 0,
    sendFrom: 0,
  }
  const timer = setTimeout(() => call.fail(`There was no answer within ${deadlineMs} ms`), deadlineMs)
  return call
}
