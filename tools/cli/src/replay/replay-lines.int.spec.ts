import { givenEvents, givenLog } from '@nextvisit/consumer/test/given-log.ts'
import { givenRunner } from '@nextvisit/consumer/test/given-runner.ts'
import { countVisits } from '@nextvisit/consumer/test/visits-projection.ts'
import { ReplayLine } from '@nextvisit/contracts'
import { userIdFixture } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { expect, it, onTestFinished, vi } from 'vitest'
import { givenVisitsReplay } from '../../test/given-replay.ts'
import { runNextvisit } from '../../test/run-nextvisit.ts'
import { createReplayLines } from './replay-report.ts'

it('a replay prints its steps, comparison and outcome as JSON lines', async () => {
  const log = await givenLog()
  const { db, replay } = await givenVisitsReplay(log)
  await givenRunner(log, db)
  await log.publish(givenEvents(40))
  await expect.poll(() => countVisits(db), { timeout: 20_000 }).toBe(40)
  await db.$executeRaw(sql`UPDATE visits SET count = 7 WHERE user_id = ${userIdFixture('user-1')}::uuid`)

  const printed = vi.spyOn(console, 'log').mockReturnValue()
  onTestFinished(() => printed.mockRestore())
  const linesOf = async (request: Parameters<typeof replay>[0]) => {
    printed.mockClear()
    const report = createReplayLines({ name: 'visits', tables: { visits: 'fold' } })
    report.onOutcome(await replay(request, report))
    return printed.mock.calls.map(([line]) => ReplayLine.parse(JSON.parse(String(line))))
  }

  const compared = await linesOf({ isDryRun: true })
  const [begin] = compared
  expect(begin).toEqual({ type: 'begin', service: 'visits', records: 40, resumedFrom: null })
  expect(compared.filter(({ type }) => type === 'progress')).not.toEqual([])
  expect(compared.filter(({ type }) => type !== 'progress').slice(1)).toEqual([
    { type: 'step', step: 'compare' },
    {
      type: 'comparison',
      tables: expect.arrayContaining([
        expect.objectContaining({
          table: 'visits',
          onlyLive: 1,
          onlyRebuilt: 1,
          examples: [{ key: expect.stringContaining('user_id='), kind: 'differs', columns: ['count'] }],
          notCompared: null,
        }),
      ]),
    },
    { type: 'outcome', outcome: 'compared', isEqual: false, lockedMs: 0 },
  ])
  expect((await linesOf({})).at(-1)).toMatchObject({ outcome: 'refused', isEqual: false })
  const swapped = await linesOf({ acceptsDifferences: true })
  expect(swapped.flatMap((line) => (line.type === 'step' ? [line.step] : []))).toEqual(['compare', 'carry', 'swap'])
  expect(swapped.at(-1)).toMatchObject({ outcome: 'swapped', isEqual: false, lockedMs: expect.any(Number) })
})

it('a replay prints the offsets that it cannot rebuild as a JSON line', () => {
  const printed = vi.spyOn(console, 'log').mockReturnValue()
  onTestFinished(() => printed.mockRestore())
  const lost = { topic: 'user-events', partition: 3, firstOffset: '1', lastOffset: '5' }
  createReplayLines({ name: 'visits', tables: {} }).onLost(lost)
  expect(printed.mock.calls.map(([line]) => ReplayLine.parse(JSON.parse(String(line))))).toEqual([
    { type: 'lost', ...lost },
  ])
})

it('a replay that cannot begin ends with an error line', async () => {
  const { exitCode, stdout, stderr } = await runNextvisit(['replay', 'nobody', '--json-lines'], {})
  expect(exitCode).toBe(2)
  expect(ReplayLine.parse(JSON.parse(stdout))).toMatchObject({
    type: 'error',
    code: 'COMMAND_FAILED',
    message: expect.stringContaining('There is no consumer service nobody'),
  })
  expect(stderr).toContain('There is no consumer service nobody')
})

it('a replay that cannot reach Kafka ends with an error that is retryable', async () => {
  const env = { KAFKA_BROKERS: '127.0.0.1:1', DATABASE_URL: 'postgresql://postgres@127.0.0.1:1/none' }
  const { exitCode, stdout } = await runNextvisit(['replay', 'metering', '--json-lines'], env)
  expect(exitCode).toBe(1)
  expect(ReplayLine.parse(JSON.parse(stdout))).toMatchObject({
    type: 'error',
    code: 'LOG_UNAVAILABLE',
    message: expect.stringMatching(/^Kafka was unavailable or busy .* Run the same command again: it resumes\.$/),
  })
})
