import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { StackError } from './errors.ts'

/** Lowest port to choose. The range stays below that of outgoing ports (from 32768 on Linux, from 49152 on macOS). */
const LOWEST = 20_000
const HIGHEST = 32_000
const PORT_FREE_WITHIN_MS = 3_000
let last = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST))

/**
 * Finds a free loopback port outside the range for outgoing ports. While a part restarts, a client that connects to its
 * port could otherwise get the same port as its own, connect to itself, and block the part's port. A port is free until a
 * process listens, so each call of a process returns another port until the range is exhausted.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    last = last < HIGHEST ? last + 1 : LOWEST
    const port = last
    if (await isPortFree(port)) return port
  }
}

/** Returns the port after `port` if it is free, otherwise any free port. */
export async function portBeside(port: number): Promise<number> {
  const next = port + 1
  return next < 65_536 && (await isPortFree(next)) ? next : freePort()
}

/** Resolves to whether a server could listen on this port now. */
export async function isPortFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)))
  })
}

/**
 * Launches on the given port, or on a free one. Without a given port, it tries another port if this one was taken
 * meanwhile. Fails with PORT_TAKEN if the given port is not free.
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

/**
 * Throws PORT_TAKEN if a service cannot listen on the port. Waits briefly, because a stopped service may keep its port
 * for a moment.
 */
export async function requirePort(variable: 'GATEWAY_PORT' | 'CONSOLE_PORT', port: number): Promise<void> {
  if (port < 1024 && process.getuid?.() !== 0) {
    throw new StackError(
      'PORT_TAKEN',
      `Only root may listen on port ${port}. Choose a port from 1024 on: ${variable}=8080 npx -y pnpm start`,
    )
  }
  const until = performance.now() + PORT_FREE_WITHIN_MS
  while (!(await isPortFree(port))) {
    if (performance.now() > until) {
      throw new StackError(
        'PORT_TAKEN',
        `Port ${port} is taken by another program. Stop that one, or choose another port: ${variable}=${await portBeside(port)} npx -y pnpm start`,
      )
    }
    await sleep(200)
  }
}
