import { checkObject } from './check-input.ts'
import { type CallItem, NextvisitError, unanswered } from './nextvisit-error.ts'
import type { AnswerBody } from './request.ts'
import type { IdentifyCall, TrackCall } from './results.ts'

/** A serialized call. */
export interface WrittenCall {
  readonly item: CallItem
  /** The item as JSON, serialized once so that each try sends the same bytes. */
  readonly json: string
  readonly bytes: number
}

/** A call without an answer. */
export interface WaitingCall extends WrittenCall {
  /** Resolves to the answer; rejects with a NextvisitError. */
  readonly answered: Promise<AnswerBody>
  readonly isSettled: () => boolean
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
  try {
    const json = JSON.stringify(item)
    return { item, json, bytes: Buffer.byteLength(json) }
  } catch (cause) {
    throw new NextvisitError('NOT_JSON', `${unserializableMember(item)} cannot be serialized as JSON`, [item], cause)
  }
}

/** Deepest level that an error names: members may be nested without end. */
const DEEPEST_NAMED = 20

/** Returns the path of the innermost member that cannot be serialized, such as `properties.items[3].price`. */
function unserializableMember(value: object, path = '', parents: ReadonlySet<unknown> = new Set()): string {
  for (const [name, member] of Object.entries(value)) {
    if (isWritable(member)) continue
    const ofArray = Array.isArray(value) ? `[${name}]` : undefined
    const memberPath = path + (ofArray ?? (path === '' ? name : `.${name}`))
    const isLast = parents.has(member) || parents.size === DEEPEST_NAMED - 1
    if (typeof member !== 'object' || member === null || isLast) return memberPath
    return unserializableMember(member, memberPath, new Set([...parents, value]))
  }
  return path
}

function isWritable(value: unknown): boolean {
  try {
    JSON.stringify(value)
    return true
  } catch {
    return false
  }
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
    isSettled: () => isSettled,
    answer: (result) => settle(() => resolve(result)),
    fail: (message) => settle(() => reject(unanswered(message, [written.item], call.lastFailure))),
    attempts: 0,
    sendFrom: 0,
  }
  const timer = setTimeout(() => call.fail(`There was no answer within ${deadlineMs} ms`), deadlineMs)
  return call
}
