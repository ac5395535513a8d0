import type { ServerResponse } from 'node:http'

/** Event of a response, with the bytes of its body, if the system did not take all of them at once. */
const UNREAD = 'unread'

/** Reports a response that has just been ended to {@link createUnreadAnswers}. `bytes`: of its body. */
export function reportUnread(response: ServerResponse, bytes: number): void {
  if (response.writableLength > 0) response.emit(UNREAD, bytes)
}

/**
 * Bounds a server's memory for unread answers (decisions.md, Slow and large). Over the bound, the connections that have waited
 * longest are closed, so callers who read their answers are safe. `watch` must see every response before it is written.
 * `withinMs`: time to read an answer.
 */
export function createUnreadAnswers({ maxBytes, withinMs }: { readonly maxBytes: number; readonly withinMs: number }) {
  /** Functions that stop counting a response, the oldest first. */
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
