import type { UnfinishedErasure, UnhealthyEndpoint } from '@nextvisit/contracts'
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
const DISABLED: UnhealthyEndpoint = {
  organization: 'acme',
  project: 'shop',
  endpointId: 'crm',
  disabledAt: '1970-01-01T00:00:00.000Z',
}
const { eraser, dispatcher } = givenNoServices()
type ReadUnfinished = (typeof eraser)['readUnfinished']
type ReadUnhealthy = (typeof dispatcher)['readUnhealthyEndpoints']

const NO_ERASURES: ReadUnfinished = async () => answered({ erasures: [] })

/** Reads the findings of the Overview of a console without services. */
async function readFindings(
  readUnfinished: ReadUnfinished,
  readUnhealthyEndpoints: ReadUnhealthy = async () => answered({ endpoints: [] }),
): Promise<readonly string[]> {
  const { readOverview } = createOverviewRoutes({
    eraser: { ...eraser, readUnfinished },
    dispatcher: { ...dispatcher, readUnhealthyEndpoints },
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

it('the Overview names a webhook endpoint that is disabled', async () => {
  expect(await readFindings(NO_ERASURES, async () => answered({ endpoints: [DISABLED] }))).toEqual([
    expect.stringMatching(/^The webhook endpoint crm of acme\/shop has been disabled/),
  ])
  expect(await readFindings(NO_ERASURES, () => new Promise(() => undefined))).toEqual([])
})
