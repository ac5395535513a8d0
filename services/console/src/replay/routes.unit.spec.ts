import { createLogger } from '@nextvisit/service-kit'
import { describe, expect, it } from 'vitest'
import { createSessions } from '../http/sessions.ts'
import { CONSUMERS } from '../services.ts'
import { createReplay } from './routes.ts'

const operator = createSessions(() => 0).open('operator', 'Grace')
const CLI = { entry: 'main.ts', environment: {} }

const givenReplay = (cli: typeof CLI | undefined, operatorUrl: string | undefined) =>
  createReplay({ cli, operatorUrl, nowMs: () => 0, logger: createLogger('console', 'silent') }).routes

describe('the replay screen', () => {
  it.each([
    [undefined, undefined, 'no-cli'],
    [undefined, 'postgresql://one', 'no-cli'],
    [CLI, undefined, 'no-database'],
    [CLI, 'postgresql://one', null],
  ] as const)('reports for the CLI %o and the database %s the obstacle %s', async (cli, url, obstacle) => {
    expect(await givenReplay(cli, url).readReplay.handle({}, operator)).toMatchObject({
      answer: { obstacle, services: CONSUMERS, run: null },
    })
  })

  it('starts nothing without configuration', async () => {
    const { startReplay, stopReplay } = givenReplay(undefined, undefined)
    expect(await startReplay.handle({ service: 'metering', goal: 'compare' }, operator)).toMatchObject({
      outcome: 'refused',
      status: 409,
      error: 'not-here',
    })
    expect(await stopReplay.handle({}, operator)).toMatchObject({ outcome: 'refused', error: 'nothing-runs' })
  })
})
