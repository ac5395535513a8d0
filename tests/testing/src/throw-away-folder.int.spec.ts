import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { throwAwayFolder } from './throw-away-folder.ts'

/** A process id that no process has: Linux counts to 4,194,304. */
const NO_PROCESS = 9_999_999

it('creating a data folder removes the folders of killed runs from memory, and no others', async () => {
  const memory = await mkdtemp(path.join(tmpdir(), 'nextvisit-memory-'))
  onTestFinished(() => rm(memory, { recursive: true }))
  const folderOf = (pid: number) => mkdir(path.join(memory, `nextvisit-test-${pid}-x`), { recursive: true })
  const [left = '', used = ''] = await Promise.all([folderOf(NO_PROCESS), folderOf(process.pid)])
  const made = await throwAwayFolder(memory)
  onTestFinished(() => rm(made, { recursive: true, force: true }))
  expect([left, used, made].filter((folder) => existsSync(folder))).toEqual([used, made])
})
