import { checkObject } from './check-input.ts'
import { type CallItem, NextvisitError, unanswered } from './nextvisit-error.ts'
import type { AnswerBody } from './request.ts'
import type { IdentifyCall, TrackCall } from './results.ts'

/** What is sent for a call. */
export interface WrittenCall {
  readonly item: CallItem
  /** The item as JSON, written once: each try sends the same bytes. */
  readonly json: string
  readonly bytes: number
}

/** A call that waits for its answer. */
export interface WaitingCall extends WrittenCall {
  /** Resolves to the answer, or rejects with a NextvisitError. */
  readonly answered: Promise<AnswerBody>
  readonly isSettled: () => boolean
  readonly answer: (result: AnswerBody) => void
  readonly fail: (message: string) => void
  /** How often the gateway has asked to send this item again. */
  attempts: number
  /** Not sent before this `performance.now()` instant. */
  sendFrom: number
  /** Why the latest try had no answer. */
  lastFailure?: Error
}

/** Throws a NextvisitError if there is no call, or it can't be written as JSON. The caller's own idempotency key is kept. */
export function writeCall(type: CallItem['type'], call: IdentifyCall | TrackCall): WrittenCall {
  checkObject(type, 'an object with userName', call)
  const item = { ...call, type, idempotencyKey: call.idempotencyKey ?? crypto.randomUUID() } as CallItem
  try {
    const json = JSON.stringify(item)
    return { item, json, bytes: Buffer.byteLength(json) }
  } catch (cause) {
    throw new NextvisitError('NOT_JSON', `${unwritableMember(item)} can not be written as JSON`, [item], cause)
  }
}

/** What nests deeper, perhaps too deep to be written, is named by its member at this level. */
const DEEPEST_NAMED = 20

/** Names the innermost member that can't be written, such as `properties.items[3].price`. */
function unwritableMember(value: object, path = '', parents: ReadonlySet<unknown> = new Set()): string {
  for (const [name, member] of Object.entries(value)) {
    if (isWritable(member)) continue
    const ofArray = Array.isArray(value) ? `[${name}]` : undefined
    const memberPath = path + (ofArray ?? (path === '' ? name : `.${name}`))
    const isLast = parents.has(member) || parents.size === DEEPEST_NAMED - 1
    if (typeof member !== 'object' || member === null || isLast) return memberPath
    return unwritableMember(member, memberPath, new Set([...parents, value]))
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

/** Starts to wait, for at most `deadlineMs`. */
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
