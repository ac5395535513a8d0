import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { vi } from 'vitest'
import { startThrowAwayStack } from '../stack.ts'
import { workspaceVariables } from './keys.ts'

const WORKSPACE_FILE = fileURLToPath(new URL('../fixtures/conformance-workspace.yaml', import.meta.url))

let stack: Awaited<ReturnType<typeof startThrowAwayStack>> | undefined

/** Brings up the one product that all tables ask. */
export async function startProduct(): Promise<void> {
  for (const [name, value] of workspaceVariables(await readFile(WORKSPACE_FILE, 'utf8'))) vi.stubEnv(name, value)
  stack = await startThrowAwayStack(WORKSPACE_FILE)
}

export async function stopProduct(): Promise<void> {
  vi.unstubAllEnvs()
  await stack?.remove()
}

/** Where it listens. */
export function baseAddress(): URL {
  if (!stack) throw new Error('The product is not running: call startProduct first')
  return new URL(stack.gatewayUrl)
}
