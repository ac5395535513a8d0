import { createLogger } from '@nextvisit/service-kit'
import { describe, expect, it } from 'vitest'
import { callRoute, givenSession } from '../../test/given-session.ts'
import { CONSUMERS } from '../services.ts'
import type { ReplayResult } from './api.ts'
import { createReplay, evolveReplay } from './routes.ts'

const operator = givenSession('operator')
const CLI = { entry: 'main.ts', environment: {} }

const givenReplay = (cli: typeof CLI | undefined, operatorUrl: string | undefined) =>
  createReplay({
    cli,
    operatorUrl,
    internalToken: 'a token of some length',
    replayFile: undefined,
    nowMs: () => 0,
    logger: createLogger('console', 'silent'),
  }).routes

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

it('a replay keeps the first offsets that cannot be rebuilt, and counts their batches', () => {
  const place = { topic: 'user-events', partition: 3 }
  const none = { step: 'fold', lost: [], lostBatches: 0 } as unknown as ReplayResult
  let result = none
  for (let index = 0; index < 60; index += 1)
    result = evolveReplay(result, { type: 'lost', ...place, firstOffset: `${index}0`, lastOffset: `${index}5` })
  expect(result).toMatchObject({ step: 'fold', lostBatches: 60 })
  expect(result.lost).toHaveLength(50)
  expect(result.lost[1]).toEqual({ ...place, firstOffset: '10', lastOffset: '15' })
})
