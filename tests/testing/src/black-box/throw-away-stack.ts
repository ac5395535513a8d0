import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePort, type Stack, type StackOptions, startStack } from '@nextvisit/local-stack'
import { bundledPrograms } from '../bundled-programs.ts'
import { throwAwayFolder } from '../throw-away-folder.ts'

export interface ThrowAwayStack extends Stack {
  /** Folder of all data of the stack, including its logs. */
  readonly dataDirectory: string
  readonly remove: () => Promise<void>
}

interface ThrowAwayOptions
  extends Pick<StackOptions, 'kafkaPorts' | 'consolePort' | 'serviceEnvironment' | 'workspaceFile'> {
  /** Content of the workspace file. */
  readonly workspace?: string
  /** Folder of a stack to continue. Default: a new one. */
  readonly dataDirectory?: string
  /**
   * Costs less CPU time: new data is in memory if there is room, and services run as bundles. Not for measurements of a disk, or if the
   * start of services is the subject.
   */
  readonly isCheap?: boolean
}

/** Starts a whole stack in a temporary folder and on free ports. Default: the demo workspace. */
export async function startThrowAwayStack({
  workspace,
  isCheap = false,
  dataDirectory: continued,
  ...options
}: ThrowAwayOptions = {}): Promise<ThrowAwayStack> {
  const created = () => (isCheap ? throwAwayFolder() : mkdtemp(path.join(tmpdir(), 'nextvisit-test-')))
  const dataDirectory = continued ?? (await created())
  let { workspaceFile } = options
  if (workspace !== undefined) {
    workspaceFile = path.join(dataDirectory, 'workspace.yaml')
    await writeFile(workspaceFile, workspace)
  }
  const stack = await startStack({
    dataDirectory,
    gatewayPort: await freePort(),
    ...options,
    ...(isCheap && { programOf: await bundledPrograms() }),
    workspaceFile,
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
