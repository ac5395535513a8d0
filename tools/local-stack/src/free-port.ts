import { createServer } from 'node:net'
import { StackError } from './errors.ts'

/** Below the range that systems take outgoing ports from (32768 on Linux, 49152 on macOS). */
const LOWEST = 20_000
const HIGHEST = 32_000

/**
 * A loopback port that is free now. Not one of those the system gives out: while a part is being restarted, a client
 * that dials such a port can be given the very same one as its own and connect to itself, and the part finds it taken.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST))
    if (await isPortFree(port)) return port
  }
}

/** Whether something could listen on this port now. */
export async function isPortFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)))
  })
}

/**
 * Launches on the given port or, without one, on a free one; then another port is tried where somebody was faster.
 * Fails with PORT_TAKEN where the port that was asked for is not free.
 */
export async function launchOnPort<T>(
  wanted: number | undefined,
  launch: (port: number) => Promise<T>,
): Promise<{ readonly port: number; readonly launched: T }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = wanted ?? (await freePort())
    try {
      return { port, launched: await launch(port) }
    } catch (error) {
      if (await isPortFree(port)) throw error
      if (wanted === undefined && attempt < 3) continue
      throw new StackError('PORT_TAKEN', `Port ${port} is taken by another program.`, { retryable: true, cause: error })
    }
  }
}
