import { readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { runNextvisit as runHere } from '@nextvisit/cli/test/run-nextvisit.ts'
import { vi } from 'vitest'
import { type OtlpReceiver, startOtlpReceiver } from '@nextvisit/testing/otlp-receiver'
import { startThrowAwayStack, type ThrowAwayStack, workspaceVariables } from '@nextvisit/testing/black-box'

const WORKSPACE_FILE = fileURLToPath(new URL('../conformance-workspace.yaml', import.meta.url))

/** Request budget of this product in ms, instead of 2 s. */
export const REQUEST_BUDGET_MS = 5_000

let stack: ThrowAwayStack | undefined
let traces: OtlpReceiver | undefined

/**
 * Starts the product that all tables test. Its budget is large, because a busy machine is not an outage. It exports the traces that callers
 * sample.
 */
export async function startProduct(): Promise<void> {
  for (const [name, value] of workspaceVariables(await readFile(WORKSPACE_FILE, 'utf8'))) vi.stubEnv(name, value)
  traces = await startOtlpReceiver()
  stack = await startThrowAwayStack({
    workspaceFile: WORKSPACE_FILE,
    isCheap: true,
    serviceEnvironment: {
      GATEWAY_REQUEST_BUDGET_MS: String(REQUEST_BUDGET_MS),
      OTEL_EXPORTER_OTLP_ENDPOINT: traces.url,
      OTEL_TRACES_SAMPLER: 'parentbased_always_off',
    },
  })
}

export async function stopProduct(): Promise<void> {
  vi.unstubAllEnvs()
  await stack?.remove()
  await traces?.stop()
}

/** Runs `nextvisit apply`. Resolves once every service has the file. Keys are named as in the fixture. */
export async function applyWorkspaceFile(text: string): Promise<void> {
  const file = path.join(tmpdir(), `nextvisit-conformance-${crypto.randomUUID()}.yaml`)
  await writeFile(file, text)
  try {
    const variables = { ...Object.fromEntries(workspaceVariables(text)), KAFKA_BROKERS: product().brokers.join() }
    const { exitCode, stdout, stderr } = await runHere(['apply', file], variables)
    if (exitCode !== 0) throw new Error(`nextvisit apply failed: ${stdout}${stderr}`)
  } finally {
    await rm(file)
  }
}

/** Returns an organization of the workspace file, as text. It may not use an anchor of another one. */
export async function organizationOf(id: string): Promise<string> {
  const [, ...organizations] = (await readFile(WORKSPACE_FILE, 'utf8')).split(/^(?=  - id: )/m)
  const found = organizations.find((text) => text.startsWith(`  - id: ${id}\n`))
  if (!found) throw new Error(`The workspace file has no organization ${id}`)
  return found
}

/** Runs a command of `nextvisit` against the product, and returns its output. */
export async function runNextvisit(...args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await runHere(args, { NEXTVISIT_DATA: product().dataDirectory })
  if (exitCode !== 0) throw new Error(`nextvisit ${args[0]} failed: ${stderr}`)
  return stdout
}

/** Returns the running product, for tables that also look behind the gateway or kill a process. */
export function product(): ThrowAwayStack {
  if (!stack) throw new Error('The product is not running: call startProduct first')
  return stack
}

/** Returns the collector of the product's traces. */
export function collector(): OtlpReceiver {
  if (!traces) throw new Error('The product is not running: call startProduct first')
  return traces
}

/** Returns the gateway's host and port. */
export function baseAddress(): URL {
  return new URL(product().gatewayUrl)
}
