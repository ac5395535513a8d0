/** Runs work that Ctrl-C, SIGTERM or a reader that closes the pipe ends, by its signal. */
export async function untilInterrupted(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, stop)
  process.stdout.once('error', stop)
  try {
    await work(stopping.signal)
  } finally {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, stop)
    process.stdout.off('error', stop)
  }
}
