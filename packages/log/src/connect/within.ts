/** Settles like `promise`, or rejects with `overdue()` after `withinMs`. Does not cancel `promise`. */
export async function within<T>(withinMs: number, promise: Promise<T>, overdue: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(overdue()), withinMs)
  })
  try {
    return await Promise.race([promise, deadline])
  } finally {
    clearTimeout(timer)
  }
}

/** Settles like `promise`, or rejects at once when the signal is aborted. Does not cancel `promise`. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = (): void => reject(signal.reason)
  signal.addEventListener('abort', onAbort)
  try {
    if (signal.aborted) onAbort()
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Resolves to true if `promise` resolves within `withinMs`, else to false. Rejects if `promise` rejects first. */
export async function isSettledWithin(withinMs: number, promise: Promise<unknown>): Promise<boolean> {
  const overdue = new Error(`Not settled within ${withinMs} ms`)
  const settled = promise.then(() => true)
  return within(withinMs, settled, () => overdue).catch((error: unknown) => {
    if (error === overdue) return false
    throw error
  })
}
