import { NextvisitError } from './nextvisit-error.ts'
import { itemOf, type WaitingCall, waitForAnswer, type WrittenCall } from './waiting-call.ts'

interface BacklogOptions {
  readonly deadlineMs: number
  readonly maxQueued: number
  readonly maxQueuedBytes: number
}

/** Calls without an answer: not sent yet, in flight, or to be sent again. */
export interface Backlog {
  /** In the order in which they were made. */
  readonly calls: ReadonlySet<WaitingCall>
  /** Adds a call until it is answered or its deadline is over. Throws a NextvisitError if there is no room. */
  readonly add: (written: WrittenCall) => WaitingCall
}

/** Creates a backlog that is bounded by the number of its calls and by the bytes of their JSON. */
export function createBacklog({ deadlineMs, maxQueued, maxQueuedBytes }: BacklogOptions): Backlog {
  const calls = new Set<WaitingCall>()
  let bytes = 0
  return {
    calls,
    add: (written) => {
      const { length } = written.json
      const isFull = calls.size >= maxQueued
      if (isFull || bytes + length > maxQueuedBytes) {
        const reached = isFull
          ? ''
          : ` with ${bytes} bytes, and this one has ${length}: maxQueuedBytes is ${maxQueuedBytes}`
        throw new NextvisitError(
          'QUEUE_FULL',
          `${calls.size} calls are already waiting for an answer${reached}`,
          () => [itemOf(written)],
        )
      }
      const call = waitForAnswer(written, deadlineMs, () => {
        calls.delete(call)
        bytes -= length
      })
      calls.add(call)
      bytes += length
      return call
    },
  }
}
