import { createBacklog } from './backlog.ts'
import { MAX_BATCH_BYTES, TOO_LARGE } from './batch-limits.ts'
import { createBatchSender } from './batch-sender.ts'
import { type CallItem, NextvisitError } from './nextvisit-error.ts'
import type { AnswerBody, SendRequest } from './request.ts'
import type { IdentifyCall, Refusal, TrackCall } from './results.ts'
import { ENVELOPE_BYTES } from './take-batch.ts'
import { itemOf, type WrittenCall, writeCall } from './waiting-call.ts'

interface CallQueueParts {
  readonly sendRequest: SendRequest
  readonly deadlineMs: number
  readonly maxQueued: number
  readonly maxQueuedBytes: number
  readonly maxBatchDelayMs: number
  /** Called for each refused call. Must not throw. */
  readonly onRefused: (refusal: Refusal, item: CallItem) => void
}

/** Queue of calls to the gateway, sent in batches. Each user's calls keep their order. */
export interface CallQueue {
  /** Adds a call. Resolves to its answer; rejects with a NextvisitError. */
  readonly add: (type: CallItem['type'], call: IdentifyCall | TrackCall) => Promise<AnswerBody>
  readonly flush: () => Promise<void>
  readonly close: (withinMs?: number) => Promise<void>
}

export function createCallQueue({ onRefused, ...parts }: CallQueueParts): CallQueue {
  const backlog = createBacklog(parts)
  const sender = createBatchSender({ ...parts, calls: backlog.calls })
  let closing: Promise<void> | undefined

  async function enqueue(written: WrittenCall): Promise<AnswerBody> {
    if (closing) throw new NextvisitError('CLOSED', 'close() was called before', () => [itemOf(written)])
    if (written.json.length + ENVELOPE_BYTES > MAX_BATCH_BYTES) return { ...TOO_LARGE }
    const { answered } = backlog.add(written)
    sender.onAdded()
    return answered
  }

  /** Resolves to the answer; rejects without an answer, or if the queue is full or closed. */
  async function answerTo(written: WrittenCall): Promise<AnswerBody> {
    const result = await enqueue(written)
    if (isRefusal(result)) onRefused(result, itemOf(written))
    return result
  }

  async function flush(): Promise<void> {
    const answers = Array.from(backlog.calls, ({ answered }) => answered)
    sender.sendNow()
    const outcomes = await Promise.allSettled(answers)
    const errors = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason as NextvisitError] : [],
    )
    const [first] = errors
    if (!first) return
    const message = `${errors.length} of ${answers.length} calls had no answer`
    const items = () => errors.flatMap((error) => error.items)
    throw new NextvisitError('UNSENT', message, items, first.cause)
  }

  async function flushWithin(withinMs: number | undefined): Promise<void> {
    const giveUp = () => {
      for (const call of backlog.calls) call.fail(`There was no answer within ${withinMs} ms of close()`)
    }
    const giveUpTimer = withinMs === undefined ? undefined : setTimeout(giveUp, withinMs)
    try {
      await flush()
    } finally {
      clearTimeout(giveUpTimer)
      sender.stop()
    }
  }

  return {
    // Not async: a function that waits would keep the caller's object, in addition to its JSON.
    add: (type, call) => {
      try {
        return answerTo(writeCall(type, call))
      } catch (error) {
        return Promise.reject(error)
      }
    },
    flush,
    close: (withinMs) => (closing ??= flushWithin(withinMs)),
  }
}

function isRefusal(result: AnswerBody): result is AnswerBody & Refusal {
  return Number(result['status']) >= 400
}
