import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'

const ROUNDS = 30

let folder: string
let lock: string
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
  lock = path.join(folder, 'lock')
})
afterEach(() => rm(folder, { recursive: true }))

/** Starts a process that takes and releases the lock on request, and answers with the outcome. */
async function startTaker(): Promise<ChildProcess> {
  const code = `
    const { takeProcessLock } = await import(${JSON.stringify(path.join(import.meta.dirname, 'process-lock.ts'))})
    let taken
    process.on('message', async (command) => {
      if (command === 'take') taken = await takeProcessLock(${JSON.stringify(lock)})
      else await taken.release?.()
      process.send(taken.outcome)
    })
    process.send('ready')
  `
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  onTestFinished(() => void child.kill())
  await once(child, 'message')
  return child
}

async function tell(child: ChildProcess, command: 'take' | 'release'): Promise<unknown> {
  const answered = once(child, 'message')
  child.send(command)
  return (await answered)[0]
}

describe('the lock of a killed process', () => {
  it('is taken over by only one of two processes that find it at the same time', async () => {
    const takers = await Promise.all([startTaker(), startTaker()])
    for (let round = 0; round < ROUNDS; round += 1) {
      await writeFile(lock, `${process.ppid} 1`)
      const outcomes = await Promise.all(takers.map((taker) => tell(taker, 'take')))
      expect(outcomes.filter((outcome) => outcome === 'taken')).toHaveLength(1)
      await Promise.all(takers.map((taker) => tell(taker, 'release')))
      expect(await readdir(folder)).toEqual([])
    }
  })
})
