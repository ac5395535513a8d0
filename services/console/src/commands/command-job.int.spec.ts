import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ErrorLine, ProgressLine } from '@nextvisit/contracts'
import { createLogger } from '@nextvisit/service-kit'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { givenSession } from '../../test/given-session.ts'
import { createCommandJob } from './command-job.ts'
import { createRunFile } from './run-file.ts'

const CHANGE_ID = '01a2066e-3ec0-780c-9db5-05517574891e'
const AUTHOR = { role: 'operator', name: 'Grace', isVerified: false, subject: null, logName: 'a1' } as const

const Told = z.object({
  type: z.literal('told'),
  args: z.array(z.string()),
  environment: z.array(z.string()),
  input: z.string(),
})
type Told = z.infer<typeof Told>
const Line = z.discriminatedUnion('type', [Told, z.object({ type: z.literal('begun') }), ProgressLine, ErrorLine])
type Line = z.infer<typeof Line>
type Result = { readonly told?: Told; readonly isBegun?: boolean }

/** Creates a job whose requests are the arguments of `command.fixture.ts`. `resume`: what the next process does with them. */
function givenJob(
  resume?: Parameters<typeof createCommandJob<readonly string[], Line, Result>>[0]['resume'],
  resumeAgainAfterMs = 1,
) {
  const logged: unknown[] = []
  const logger = createLogger('console', 'info', { write: (line: string) => void logged.push(JSON.parse(line)) })
  const job = createCommandJob(
    {
      name: 'work',
      argsOf: (args: readonly string[]) => args,
      inputOf: () => 'the piped text',
      environment: { DATABASE_URL: 'postgresql://one' },
      line: Line,
      initialResult: (): Result => ({}),
      evolve: (result, line) => {
        if (line.type === 'told') return { told: line }
        return line.type === 'begun' ? { isBegun: true } : result
      },
      outcomeOf: ({ told }) => told && 'told',
      ...(resume && { resume }),
    },
    {
      cli: {
        entry: path.resolve(import.meta.dirname, '../../test/command.fixture.ts'),
        environment: { KAFKA_BROKERS: 'one:9092' },
      },
      nowMs: () => 0,
      logger,
      resumeAgainAfterMs,
    },
  )
  onTestFinished(job.close)
  const session = givenSession('operator', 'Grace')
  const hasEnded = () => expect.poll(() => job.run()?.endedAtMs, { timeout: 20_000 }).toBe(0)
  const hasBegun = () => expect.poll(() => job.run()?.progress, { timeout: 20_000 }).toBeDefined()
  return { job, session, hasEnded, hasBegun, logged }
}

describe('the job of a command', () => {
  it('starts it without a shell or this environment, and keeps its result', async () => {
    const { job, session, hasEnded, logged } = givenJob()
    expect(job.run()).toBeUndefined()
    const args = ['tell', '$HOME; echo `id`', '']
    expect(job.start(args, session)).toBe('started')
    await hasEnded()
    const run = job.run()
    expect(run).toMatchObject({ by: 'Grace', progress: { share: 0.5, records: 10 }, failure: undefined })
    expect(run?.result.told).toEqual({
      type: 'told',
      args: args.slice(1),
      environment: ['DATABASE_URL', 'KAFKA_BROKERS', 'NEXTVISIT_CHANGE', 'NEXTVISIT_DATA'],
      input: 'the piped text',
    })
    expect(logged).toEqual([
      expect.objectContaining({ action: 'work ended', by: 'Grace', role: 'operator', outcome: 'told' }),
    ])
  })

  it('runs one at a time, and stops it on request', async () => {
    const { job, session, hasEnded, hasBegun } = givenJob()
    expect(job.stop('Ada')).toBe(false)
    job.start(['hang'], session)
    await hasBegun()
    expect(job.start(['tell'], session)).toBe('busy')
    expect(job.run()?.endedAtMs).toBeUndefined()
    expect(job.stop('Ada')).toBe(true)
    await hasEnded()
    expect(job.run()?.failure).toMatchObject({ code: 'STOPPED', message: 'Ada stopped it.' })
    expect(job.start(['tell'], session)).toBe('started')
    await hasEnded()
    expect(job.run()).toMatchObject({ failure: undefined, result: { told: { type: 'told' } } })
  })

  it('ends with the process that started it, even if it ignores SIGTERM', async () => {
    const { job, session, hasBegun } = givenJob()
    job.start(['hang on'], session)
    await hasBegun()
    await job.close()
    expect(job.run()).toMatchObject({ endedAtMs: 0, failure: { code: 'KILLED' } })
  })

  it('ends immediately if the process cannot be started, and the next one can', async () => {
    const { job, session, hasEnded } = givenJob()
    // Longer than the machine's limit for an argument, so `spawn` throws.
    expect(job.start(['tell', 'x'.repeat(2 ** 22)], session)).toBe('started')
    await hasEnded()
    expect(job.run()?.failure).toMatchObject({ code: 'NOT_STARTED' })
    expect(job.start(['tell'], session)).toBe('started')
    await hasEnded()
    expect(job.run()).toMatchObject({ failure: undefined, result: { told: { type: 'told' } } })
  })

  it.each([
    ['fail', { code: 'REPLAY_RUNS', message: 'Another replay runs.' }],
    ['break', { code: 'ENDED', message: expect.stringContaining('exit code 2') }],
    ['chatter', { code: 'TOO_MUCH_OUTPUT' }],
  ])('reports the failure of a command that is told to %s', async (scenario, failure) => {
    const { job, session, hasEnded } = givenJob()
    job.start([scenario], session)
    await hasEnded()
    expect(job.run()?.failure).toMatchObject(failure)
  })
})

function unwritable(): never {
  throw new Error('The disk is full.')
}

/** The file of a command, and the jobs of consecutive processes. A command that had begun continues as `tell again`. */
async function givenProcesses() {
  const folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const resume = {
    file: createRunFile<readonly string[]>(path.join(folder, 'state', 'work.json'), z.array(z.string())),
    requestOf: () => ['tell', 'again'],
    hasBegun: ({ told, isBegun }: Result) => told !== undefined || isBegun === true,
    retriedCodes: new Set(['REPLAY_RUNS']),
  }
  return {
    folder,
    file: resume.file,
    next: (againAfterMs?: number) => givenJob(resume, againAfterMs),
    nextOn: (faults: { readonly write?: true; readonly remove?: true }) =>
      givenJob({
        ...resume,
        file: {
          ...resume.file,
          ...(faults.write && { write: unwritable }),
          ...(faults.remove && { remove: unwritable }),
        },
      }),
  }
}

describe('a command that can resume', () => {
  it('is resumed by the next process, which says so, and by no other', async () => {
    const { next } = await givenProcesses()
    const first = next()
    first.job.start(['begin and hang'], first.session)
    await first.hasBegun()
    await first.job.close()

    const second = next()
    second.job.resume()
    expect(second.job.start(['tell'], second.session)).toBe('busy')
    await second.hasEnded()
    expect(second.job.run()).toMatchObject({ by: 'Grace', startedAtMs: 0, resumedAtMs: 0, failure: undefined })
    expect(second.job.run()?.result.told?.args).toEqual(['again'])
    expect(second.logged).toContainEqual(
      expect.objectContaining({ action: 'work resumed', by: 'Grace', interruptions: 1 }),
    )

    const third = next()
    third.job.resume()
    expect(third.job.run()).toBeUndefined()
  })

  it.each([
    ['was stopped', ['hang'], (job: ReturnType<typeof givenJob>['job']) => void job.stop('Ada')],
    ['has failed', ['fail'], () => undefined],
    ['has ended', ['tell'], () => undefined],
  ])('is not resumed if it %s', async (_how, request, act) => {
    const { file, next } = await givenProcesses()
    const { job, session, hasEnded } = next()
    job.start(request, session)
    expect(file.read()).toMatchObject({ request, author: { name: 'Grace' }, interruptions: 0 })
    act(job)
    await hasEnded()
    await expect.poll(file.read).toBeUndefined()
  })

  it('is tried again until it begins: its interrupted process may still be ending', async () => {
    const { folder, file, next } = await givenProcesses()
    file.write({
      request: ['fail once', path.join(folder, 'has failed')],
      author: AUTHOR,
      startedAtMs: 0,
      changeId: CHANGE_ID,
      interruptions: 0,
    })
    const { job } = next()
    job.resume()
    await expect.poll(() => job.run()?.result.told, { timeout: 20_000 }).toBeDefined()
    await expect.poll(file.read).toBeUndefined()
  })

  it('is not resumed if it printed its outcome before the process closed', async () => {
    const { file, next } = await givenProcesses()
    const { job, session, hasBegun } = next()
    job.start(['tell and hang'], session)
    await hasBegun()
    await job.close()
    expect(job.run()).toMatchObject({ failure: undefined, result: { told: { type: 'told' } } })
    expect(file.read()).toBeUndefined()
  })

  it('is not resumed if it was stopped, even if the process closes or is killed before it has ended', async () => {
    const { file, next } = await givenProcesses()
    const { job, session, hasBegun } = next()
    job.start(['hang on'], session)
    await hasBegun()
    job.stop('Ada')
    expect(file.read()).toBeUndefined()
    await job.close()
    expect(job.run()?.failure).toMatchObject({ code: 'STOPPED' })
    expect(file.read()).toBeUndefined()
  })

  it('is resumed with its own request if it had not begun', async () => {
    const { file, next } = await givenProcesses()
    const first = next()
    first.job.start(['hang'], first.session)
    await first.hasBegun()
    await first.job.close()
    const second = next()
    second.job.resume()
    await second.hasBegun()
    expect(file.read()).toMatchObject({ request: ['hang'], interruptions: 1 })
  })

  it('can be stopped between two attempts', async () => {
    const { file, next } = await givenProcesses()
    file.write({ request: ['fail'], author: AUTHOR, startedAtMs: 0, changeId: CHANGE_ID, interruptions: 0 })
    const { job, hasEnded } = next(600_000)
    job.resume()
    await hasEnded()
    await expect.poll(() => job.stop('Ada')).toBe(true)
    expect(job.run()?.failure).toMatchObject({ code: 'STOPPED', message: 'Ada stopped it.' })
    expect(file.read()).toBeUndefined()
    expect(job.stop('Ada')).toBe(false)
  })

  it('is not tried again after a failure that would repeat', async () => {
    const { file, next } = await givenProcesses()
    file.write({ request: ['refuse'], author: AUTHOR, startedAtMs: 0, changeId: CHANGE_ID, interruptions: 0 })
    const { job, hasEnded } = next(600_000)
    job.resume()
    await hasEnded()
    await expect.poll(file.read).toBeUndefined()
    expect(job.stop('Ada')).toBe(false)
    expect(job.run()?.failure).toMatchObject({ code: 'REPLAY_OF_OTHER_CODE' })
  })

  it.each([
    ['written', { write: true }],
    ['removed', { remove: true }],
  ] as const)('leaves the console running if its note cannot be %s', async (_, faults) => {
    const { file, nextOn } = await givenProcesses()
    file.write({ request: ['refuse'], author: AUTHOR, startedAtMs: 0, changeId: CHANGE_ID, interruptions: 0 })
    const { job, logged } = nextOn(faults)
    job.resume()
    await expect
      .poll(() => logged, { timeout: 20_000 })
      .toContainEqual(
        expect.objectContaining({
          action: 'work note',
          err: expect.objectContaining({ message: 'The disk is full.' }),
        }),
      )
  })

  it('is reported, and not resumed, once restarts have interrupted it four times', async () => {
    const { file, next } = await givenProcesses()
    file.write({ request: ['hang'], author: AUTHOR, startedAtMs: 0, changeId: CHANGE_ID, interruptions: 3 })
    const { job } = next()
    job.resume()
    expect(job.run()).toMatchObject({ by: 'Grace', endedAtMs: 0, failure: { code: 'INTERRUPTED' } })
    expect(file.read()).toBeUndefined()
  })
})
