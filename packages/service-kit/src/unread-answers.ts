import type { ServerResponse } from 'node:http'

/** Event of a response, with the bytes of its body, if the system did not take all of them at once. */
const UNREAD = 'unread'
/** Events of a response that no longer waits. */
const READ = ['drain', 'finish', 'close'] as const

/**
 * Reports a response to {@link createUnreadAnswers}: once it has been ended, or each time a streamed one waits for its reader.
 * `bytes`: of its body, or those that wait.
 */
export function reportUnread(response: ServerResponse, bytes: number): void {
  if (response.writableLength > 0) response.emit(UNREAD, bytes)
}

/**
 * Bounds a server's memory for unread answers (decisions.md, Slow and large). Over the bound, the connections that have waited
 * longest are closed, so callers who read their answers are safe. `watch` must see every response before it is written.
 * `withinMs`: time to read an answer, or what a streamed one has buffered.
 */
export function createUnreadAnswers({ maxBytes, withinMs }: { readonly maxBytes: number; readonly withinMs: number }) {
  /** Functions that stop counting a response, the oldest first. */
  const unread = new Map<ServerResponse, () => void>()
  let bytes = 0

  function hold(response: ServerResponse, answerBytes: number): void {
    unread.get(response)?.()
    const timer = setTimeout(() => response.destroy(), withinMs)
    const release = () => {
      // A later report of the response replaced this one, such as a write within the same event `drain`.
      if (unread.get(response) !== release) return
      unread.delete(response)
      for (const event of READ) response.off(event, release)
      clearTimeout(timer)
      bytes -= answerBytes
    }
    unread.set(response, release)
    bytes += answerBytes
    for (const event of READ) response.once(event, release)
    for (const [longest, releaseLongest] of unread) {
      if (bytes <= maxBytes) return
      longest.destroy()
      releaseLongest()
    }
  }

  return { watch: (response: ServerResponse) => void response.on(UNREAD, (size: number) => hold(response, size)) }
}
