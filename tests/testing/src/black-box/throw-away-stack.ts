import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort, type Stack, type StackOptions, startStack } from '@nextvisit/local-stack'
import { throwAwayFolder } from '../throw-away-folder.ts'

export interface ThrowAwayStack extends Stack {
  /** Folder of all data of the stack, including its logs. */
  readonly dataDirectory: string
  readonly remove: () => Promise<void>
}

export interface ThrowAwayOptions extends Pick<StackOptions, 'kafkaPorts' | 'consolePort' | 'serviceEnvironment'> {
  /** Keeps the data in memory if there is room, which costs less CPU time. Not for measurements of a disk. */
  readonly inMemory?: boolean
}

/** Starts a whole stack in a temporary folder and on free ports. */
export async function startThrowAwayStack(
  workspaceFile?: string,
  { inMemory = false, ...options }: ThrowAwayOptions = {},
): Promise<ThrowAwayStack> {
  const dataDirectory = await (inMemory ? throwAwayFolder() : mkdtemp(path.join(tmpdir(), 'nextvisit-test-')))
  const stack = await startStack({
    dataDirectory,
    gatewayPort: await freePort(),
    ...(workspaceFile === undefined ? {} : { workspaceFile }),
    ...options,
    onProgress: () => undefined,
  })
  return {
    ...stack,
    dataDirectory,
    remove: async () => {
      await stack.stop()
      await rm(dataDirectory, { recursive: true, force: true })
    },
  }
}

/** Calls `ask` until `isDone` accepts the answer, or until `withinMs` have passed. Returns the last answer. */
export async function eventually<T>(
  ask: () => Promise<T>,
  isDone: (answer: T) => boolean,
  withinMs: number,
  everyMs = 100,
): Promise<T> {
  const until = performance.now() + withinMs
  for (;;) {
    const answer = await ask()
    if (isDone(answer) || performance.now() > until) return answer
    await sleep(everyMs)
  }
}
