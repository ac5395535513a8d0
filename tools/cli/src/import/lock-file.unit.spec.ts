import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { processInfo } from '../environment/process-info.ts'
import { lockFile } from './lock-file.ts'

let folder: string
let file: string
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
  file = path.join(folder, 'history.ndjson')
})
afterEach(() => rm(folder, { recursive: true }))

describe('the lock of an import', () => {
  it('names the process that holds it, while that process runs', async () => {
    await writeFile(`${file}.import-lock`, `${process.ppid} ${processInfo(process.ppid)?.startedAt}`)
    await expect(lockFile(file)).rejects.toMatchObject({
      exitCode: 1,
      message: `Process ${process.ppid} is importing ${file}: wait until it ends.`,
    })
  })

  it('is taken over from a dead process, and is removed when released', async () => {
    const killed = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1_000)'])
    await once(killed, 'spawn')
    const lock = `${killed.pid} ${processInfo(killed.pid ?? 0)?.startedAt}`
    killed.kill('SIGKILL')
    await once(killed, 'close')
    await writeFile(`${file}.import-lock`, lock)
    const release = await lockFile(file)
    expect(await readdir(folder)).toEqual(['history.ndjson.import-lock'])
    await release()
    expect(await readdir(folder)).toEqual([])
  })

  it('names the remedy if it cannot be written', async () => {
    await expect(lockFile(path.join(folder, 'nowhere', 'history.ndjson'))).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('its folder does not exist'),
    })
  })
})
