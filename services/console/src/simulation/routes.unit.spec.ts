import { createLogger } from '@nextvisit/service-kit'
import { describe, expect, it } from 'vitest'
import { callRoute, givenSession } from '../../test/given-session.ts'
import { createSimulation } from './routes.ts'

const operator = givenSession('operator')
const CLI = { entry: 'main.ts', environment: {} }

const givenSimulation = (cli: typeof CLI | undefined) =>
  createSimulation({ cli, nowMs: () => 0, logger: createLogger('console', 'silent') }).routes

describe('the simulation screen', () => {
  it.each([
    [undefined, false],
    [CLI, true],
  ])('reports for the CLI %o that a simulation can start: %s', async (cli, canStart) => {
    expect(await callRoute(givenSimulation(cli).readSimulation, {}, operator)).toMatchObject({
      answer: { canStart, run: null },
    })
  })

  it('starts nothing without configuration', async () => {
    const { startSimulation, stopSimulation } = givenSimulation(undefined)
    expect(await callRoute(startSimulation, { workspace: 'organizations: []', days: 1 }, operator)).toMatchObject({
      outcome: 'refused',
      status: 409,
      error: 'not-here',
    })
    expect(await callRoute(stopSimulation, {}, operator)).toMatchObject({ outcome: 'refused', error: 'nothing-runs' })
  })
})
