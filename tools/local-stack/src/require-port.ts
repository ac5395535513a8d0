import { setTimeout as sleep } from 'node:timers/promises'
import { StackError } from './errors.ts'
import { isPortFree, portBeside } from './free-port.ts'

const PORT_FREE_WITHIN_MS = 3_000

/** Throws PORT_TAKEN if a service cannot listen on the port. Waits briefly, because a stopped service may keep its port for a moment. */
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
