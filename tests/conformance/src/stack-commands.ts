import { spawn } from 'node:child_process'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { changesIn } from '@nextvisit/cli/test/changes-by.ts'
import { runNextvisit } from '@nextvisit/cli/test/run-nextvisit.ts'
import { compiledCode } from '@nextvisit/testing'
import { eventually, type ThrowAwayStack } from '@nextvisit/testing/black-box'
import { expect } from 'vitest'

const CLI = path.resolve(import.meta.dirname, '../../../tools/cli/src/main.ts')

export interface StackAnswer {
  readonly status: number
  readonly text: string
  /** True if the answer was kept for an `Idempotency-Key`. */
  readonly isRepeat: boolean
  /** Parsed body; an empty object if there is none. */
  readonly body: Record<string, unknown>
}

export interface Sent {
  readonly body?: object | string
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Returns functions that call the gateway of a stack, by default with the key of `keyOf`. */
export function createStackCaller(stackOf: () => ThrowAwayStack, keyOf: () => string) {
  async function send(method: string, where: string, { body, key = keyOf(), headers }: Sent = {}) {
    const response = await fetch(`${stackOf().gatewayUrl}${where}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-api-key': key, ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const received = await response.text()
    const isRepeat = response.headers.get('idempotent-replayed') === 'true'
    const parsed = (received === '' ? {} : JSON.parse(received)) as StackAnswer['body']
    return { status: response.status, text: received, isRepeat, body: parsed }
  }
  /** Sends again while a part is unavailable, as on a busy machine. */
  const carefully = (method: string, where: string, sent: Sent = {}): Promise<StackAnswer> =>
    eventually(
      () => send(method, where, sent),
      ({ status }) => status !== 503,
      30_000,
      500,
    )
  return {
    carefully,
    post: (where: string, body: object | string, rest: Sent = {}) => carefully('POST', where, { body, ...rest }),
    get: (where: string) => carefully('GET', where),
  }
}

export interface Ended {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
  /** Standard output, then standard error. */
  readonly output: string
}

/** Commands in this process, one after the other, because each captures the output. */
let last: Promise<unknown> = Promise.resolve()

/** Returns functions that run the command line against a stack, with these variables only. */
export function createStackCommands(stackOf: () => ThrowAwayStack, variables: ReadonlyMap<string, string> = new Map()) {
  const environment = () => ({ ...Object.fromEntries(variables), NEXTVISIT_DATA: stackOf().dataDirectory })

  /** Runs a command in this process. The start of another process takes more CPU time than most commands. */
  async function nextvisit(...args: readonly string[]): Promise<Ended> {
    const run = last.then(() => runNextvisit(args, environment()))
    last = run.catch(() => undefined)
    const { exitCode, stdout, stderr } = await run
    return { exitCode, stdout, stderr, output: `${stdout}${stderr}` }
  }

  /** Runs a command in a process of its own, beside others. */
  async function startNextvisit(...args: readonly string[]): Promise<Ended> {
    const child = spawn(process.execPath, [CLI, ...args], { env: { ...compiledCode(), ...environment() } })
    const [stdout, stderr, exitCode] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      new Promise<number | null>((resolve) => child.once('close', resolve)),
    ])
    return { exitCode, stdout, stderr, output: `${stdout}${stderr}` }
  }

  /** Lists changes of operators, newest first. */
  async function listChanges(...filter: readonly string[]) {
    return changesIn((await nextvisit('changes', 'list', ...filter, '--json')).stdout)
  }

  async function isSettled(): Promise<boolean> {
    const { stdout } = await nextvisit('status', '--json')
    const { consumers } = JSON.parse(stdout) as { consumers: readonly { readonly lagRecords: number }[] }
    return consumers.every(({ lagRecords }) => lagRecords === 0)
  }

  return {
    nextvisit,
    startNextvisit,
    listChanges,
    /** Waits until every consumer has folded everything. */
    settle: async () => expect(await eventually(isSettled, Boolean, 60_000, 500)).toBe(true),
  }
}
