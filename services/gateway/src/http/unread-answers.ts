import type { ServerResponse } from 'node:http'

/** Emitted on a response, with the bytes of its body, if the system did not take all of it at once. */
export const UNREAD = 'unread'

interface UnreadAnswersOptions {
  /** Of all answers that their callers have not read. */
  readonly maxBytes: number
  /** How long a caller may take to read an answer. */
  readonly withinMs: number
}

/**
 * Bounds the memory for answers that callers do not read (decisions.md, Slow and large). Where there is too much, the
 * connections that have waited longest are closed: those who read their answers are not concerned. `watch` must see every
 * response before it is written.
 */
export function createUnreadAnswers({ maxBytes, withinMs }: UnreadAnswersOptions) {
  /** What ends the counting of each; the oldest first. */
  const unread = new Map<ServerResponse, () => void>()
  let bytes = 0

  function hold(response: ServerResponse, answerBytes: number): void {
    const timer = setTimeout(() => response.destroy(), withinMs)
    const release = () => {
      if (!unread.delete(response)) return
      clearTimeout(timer)
      bytes -= answerBytes
    }
    unread.set(response, release)
    bytes += answerBytes
    response.once('finish', release)
    response.once('close', release)
    for (const [longest, releaseLongest] of unread) {
      if (bytes <= maxBytes) return
      longest.destroy()
      releaseLongest()
    }
  }

  return { watch: (response: ServerResponse) => void response.once(UNREAD, (size: number) => hold(response, size)) }
}
