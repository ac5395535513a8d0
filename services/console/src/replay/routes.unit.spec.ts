import { createLogger } from '@nextvisit/service-kit'
import { describe, expect, it } from 'vitest'
import { callRoute, givenSession } from '../../test/given-session.ts'
import { CONSUMERS } from '../services.ts'
import { createReplay } from './routes.ts'

const operator = givenSession('operator')
const CLI = { entry: 'main.ts', environment: {} }

const givenReplay = (cli: typeof CLI | undefined, operatorUrl: string | undefined) =>
  createReplay({ cli, operatorUrl, replayFile: undefined, nowMs: () => 0, logger: createLogger('console', 'silent') })
    .routes

describe('the replay screen', () => {
  it.each([
    [undefined, undefined, 'no-cli'],
    [undefined, 'postgresql://one', 'no-cli'],
    [CLI, undefined, 'no-database'],
    [CLI, 'postgresql://one', null],
  ] as const)('reports for the CLI %o and the database %s the obstacle %s', async (cli, url, obstacle) => {
    expect(await callRoute(givenReplay(cli, url).readReplay, {}, operator)).toMatchObject({
      answer: { obstacle, services: CONSUMERS, run: null },
    })
  })

  it('starts nothing without configuration', async () => {
    const { startReplay, stopReplay } = givenReplay(undefined, undefined)
    expect(await callRoute(startReplay, { service: 'metering', goal: 'compare' }, operator)).toMatchObject({
      outcome: 'refused',
      status: 409,
      error: 'not-here',
    })
    expect(await callRoute(stopReplay, {}, operator)).toMatchObject({ outcome: 'refused', error: 'nothing-runs' })
  })
})
