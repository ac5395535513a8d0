import path from 'node:path'
import { ErrorLine, ProgressLine } from '@nextvisit/contracts'
import { createLogger } from '@nextvisit/service-kit'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { createSessions } from '../http/sessions.ts'
import { createCommandJob } from './command-job.ts'

const Told = z.object({
  type: z.literal('told'),
  args: z.array(z.string()),
  environment: z.array(z.string()),
  input: z.string(),
})
type Told = z.infer<typeof Told>

/** Creates a job whose requests are the arguments of `command.fixture.ts`. */
function givenJob() {
  const logged: unknown[] = []
  const logger = createLogger('console', 'info', { write: (line: string) => void logged.push(JSON.parse(line)) })
  const job = createCommandJob(
    {
      name: 'work',
      argsOf: (args: readonly string[]) => args,
      inputOf: () => 'the piped text',
      environment: { DATABASE_URL: 'postgresql://one' },
      line: z.discriminatedUnion('type', [Told, ProgressLine, ErrorLine]),
      initialResult: (): { readonly told?: Told } => ({}),
      evolve: (result, line) => (line.type === 'told' ? { told: line } : result),
      outcomeOf: ({ told }) => told && 'told',
    },
    {
      cli: {
        entry: path.resolve(import.meta.dirname, '../../test/command.fixture.ts'),
        environment: { KAFKA_BROKERS: 'one:9092' },
      },
      nowMs: () => 0,
      logger,
    },
  )
  onTestFinished(job.close)
  const session = createSessions(() => 0).open('operator', 'Grace')
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
      environment: ['DATABASE_URL', 'KAFKA_BROKERS', 'NEXTVISIT_DATA'],
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
