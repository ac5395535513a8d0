import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { expect, it, onTestFinished } from 'vitest'
import { throwAwayFolder } from './throw-away-folder.ts'

/** No process has it: Linux counts to 4,194,304. */
const NO_PROCESS = 9_999_999

async function folderOf(pid: number): Promise<string> {
  const folder = await mkdtemp(`/dev/shm/nextvisit-test-${pid}-`)
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

it.skipIf(!existsSync('/dev/shm'))(
  'a folder for data removes what killed runs have left in memory, and no other',
  async () => {
    const left = await folderOf(NO_PROCESS)
    const used = await folderOf(process.pid)
    const made = await throwAwayFolder()
    onTestFinished(() => rm(made, { recursive: true }))
    expect([left, used, made].filter((folder) => existsSync(folder))).toEqual([used, made])
  },
)
