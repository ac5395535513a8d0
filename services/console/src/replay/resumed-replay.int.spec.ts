import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createLogger } from '@nextvisit/service-kit'
import { expect, it, onTestFinished } from 'vitest'
import { createRunFile } from '../commands/run-file.ts'
import { StartReplay } from './api.ts'
import { createReplay } from './routes.ts'

/** Resumes a replay of which the first attempt fails with this code. Returns the number of attempts, once no other follows. */
async function attemptsAfter(code: string): Promise<number> {
  const folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const [replayFile, entry, attempts] = ['replay.json', 'cli.mjs', 'attempts'].map((name) => path.join(folder, name))
  if (!replayFile || !entry || !attempts) throw new Error('three paths')
  const failed = { type: 'error', code, message: 'The first attempt failed.', faults: [] }
  const swapped = { type: 'outcome', outcome: 'swapped', isEqual: true, lockedMs: 1 }
  await writeFile(
    entry,
    `import { appendFileSync, existsSync } from 'node:fs'
     console.log(JSON.stringify(existsSync(${JSON.stringify(attempts)}) ? ${JSON.stringify(swapped)} : ${JSON.stringify(failed)}))
     appendFileSync(${JSON.stringify(attempts)}, '.')`,
  )
  const note = createRunFile(replayFile, StartReplay)
  const request = { service: 'metering', goal: 'swap', acceptDifferences: false, restart: false } as const
  const author = { role: 'operator', name: 'Grace', isVerified: false, subject: null, logName: 'a1' } as const
  note.write({ request, author, startedAtMs: 0, changeId: randomUUID(), interruptions: 0 })
  const replay = createReplay({
    cli: { entry, environment: {} },
    operatorUrl: 'postgresql://one',
    internalToken: 'a token of some length',
    replayFile,
    nowMs: () => 0,
    logger: createLogger('console', 'silent'),
  })
  onTestFinished(replay.close)
  replay.resume()
  await expect.poll(note.read, { timeout: 20_000 }).toBeUndefined()
  return (await readFile(attempts)).length
}

it.each([
  ['LOG_UNAVAILABLE', 2],
  ['REPLAY_RUNS', 2],
  ['UNEXPECTED', 1],
])('a resumed replay that fails with %s before it begins is attempted %i times', async (code, attempts) => {
  expect(await attemptsAfter(code)).toBe(attempts)
})
