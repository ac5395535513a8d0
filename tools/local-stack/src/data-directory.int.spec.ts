import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { takeDataDirectory } from './data-directory.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

describe('takeDataDirectory', () => {
  it('refuses a second stack while one runs, and accepts it afterwards', async () => {
    const release = await takeDataDirectory(folder)
    await expect(takeDataDirectory(folder)).rejects.toMatchObject({ code: 'ALREADY_RUNNING' })
    await release()
    await (await takeDataDirectory(folder))()
  })

  it('ignores the lock of a process that was killed', async () => {
    const code = `
      const { takeDataDirectory } = await import(${JSON.stringify(path.join(import.meta.dirname, 'data-directory.ts'))})
      await takeDataDirectory(${JSON.stringify(folder)})
      process.kill(process.pid, 'SIGKILL')
    `
    await once(spawn(process.execPath, ['--input-type=module', '--eval', code]), 'exit')
    expect(Number.parseInt(await readFile(path.join(folder, 'lock'), 'utf8'), 10)).toBeGreaterThan(0)
    await (await takeDataDirectory(folder))()
  })

  it('ignores a lock whose process id now belongs to another process', async () => {
    await writeFile(path.join(folder, 'lock'), `${process.ppid} 1`)
    await (await takeDataDirectory(folder))()
    await expect(readFile(path.join(folder, 'lock'))).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('names the remedy for a folder that cannot be created', async () => {
    const file = path.join(folder, 'file')
    await writeFile(file, '')
    await expect(takeDataDirectory(path.join(file, 'data'))).rejects.toMatchObject({
      code: 'FOLDER_UNUSABLE',
      message: expect.stringContaining('Set NEXTVISIT_DATA to a folder that you own.'),
    })
  })
})
