import type { UnfinishedErasure } from '@nextvisit/contracts'
import { expect, it } from 'vitest'
import { givenNoServices } from '../../test/given-no-services.ts'
import { PARTITIONS, sampleOf } from '../../test/given-samples.ts'
import { callRoute, givenSession } from '../../test/given-session.ts'
import { answered } from '../http/api-route.ts'
import { noAnswerOf } from '../services.ts'
import { createOverviewRoutes } from './routes.ts'

const LATE: UnfinishedErasure = {
  organization: 'acme',
  project: 'shop',
  erasureId: '01a2066e-3ec0-780c-9db5-055175748911',
  requestedAt: '2026-11-23T03:00:00.000Z',
  status: 'incomplete',
  users: 1,
  unknown: 0,
  suppress: false,
  stores: [{ store: 'user-projector', status: 'incomplete', rows: 0, because: 'It lags.' }],
}
const { eraser } = givenNoServices()
type ReadUnfinished = (typeof eraser)['readUnfinished']

/** Reads the findings of the Overview of a console without services. */
async function readFindings(readUnfinished: ReadUnfinished): Promise<readonly string[]> {
  const { readOverview } = createOverviewRoutes({
    eraser: { ...eraser, readUnfinished },
    readSamples: () => ({ samples: [sampleOf({})], services: [], lastAnswers: new Map() }),
    readReachedLimits: async () => [],
    countMembers: async () => undefined,
    partitionCount: PARTITIONS,
    nowMs: () => 0,
  })
  const result = await callRoute(readOverview, {}, givenSession('viewer'))
  if (result.outcome === 'refused') throw new Error(result.message)
  return (result.answer as { readonly findings: readonly { readonly text: string }[] }).findings.map(({ text }) => text)
}

it('the Overview names the late stores of an erasure', async () => {
  expect(await readFindings(async () => answered({ erasures: [LATE] }))).toEqual([
    expect.stringMatching(/^The erasure 01a2066e.* is incomplete: user-projector \(It lags\.\)\.$/),
  ])
})

it.each<[string, ReadUnfinished]>([
  ['does not answer', async () => noAnswerOf('user-eraser')],
  ['hangs', () => new Promise(() => undefined)],
])('the Overview has no erasure, and is not late, while the eraser %s', async (_, readUnfinished) => {
  expect(await readFindings(readUnfinished)).toEqual([])
})
