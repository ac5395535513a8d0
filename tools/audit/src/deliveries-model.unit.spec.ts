import { expect, it } from 'vitest'
import { createDeliveriesModel } from './deliveries-model.ts'
import type { DecidedFact } from './facts.ts'
import { createFindings } from './findings.ts'
import type { Snapshot } from './snapshot.ts'
import { userIdOf } from './uuid-v5.ts'

const AT = '2026-11-02T10:00:00.000Z'
const NOW_MS = Date.parse(AT)
const LIVE = '00000000-0000-0000-0000-000000000000'
const user = { organization: 'acme', project: 'shop', userId: userIdOf('acme', 'shop', 'ada') } as const
const endpoint = { id: 'crm', addedAt: '2026-01-01T00:00:00.000Z', events: undefined, isCertain: true }
const fact = { ...user, type: 'FormExpired', id: 'a', at: AT, formId: 'nps', offerId: 'o' } as unknown as DecidedFact

const REPLAY = '11111111-1111-4111-8111-111111111111'
const LIVE_POSITION = {
  replayId: LIVE,
  nextOffset: 0,
  isLive: true,
  beginOffset: null,
  fromAt: null,
  requestedAt: null,
}

interface SpecCopy {
  readonly offset: bigint
  readonly isDead?: true
  readonly daysAgo?: number
}

/**
 * Audits the delivery of a record with copies at these offsets, that is in the place `sourceOffset`; undefined: there is none. It is of the
 * stream of a position.
 */
async function audited(
  copies: readonly SpecCopy[],
  sourceOffset: number | undefined,
  position: object = LIVE_POSITION,
) {
  async function* rows(text: string) {
    const { organization, project } = user
    const of = { organization, project, endpointId: 'crm', partition: 0 }
    if (text.includes('FROM positions')) yield { ...of, addedAt: endpoint.addedAt, ...position }
    if (!text.includes('FROM deliveries') || text.includes('DISTINCT') || sourceOffset === undefined) return
    const body = JSON.stringify({ type: 'form.expired', timestamp: AT, data: user })
    yield {
      ...of,
      ...user,
      replayId: LIVE,
      ...position,
      sourceOffset,
      causeOffset: null,
      webhookId: 'a',
      type: 'form.expired',
      at: AT,
      body,
    }
  }
  const snapshot = { checkpoints: new Map([[0, 100n]]), rows } as unknown as Snapshot
  const fences = { ofUser: () => [], ofUserId: () => [], all: () => [], see: () => {} }
  const model = await createDeliveriesModel({ snapshot, fences, findEndpoint: () => endpoint, nowMs: NOW_MS })
  for (const { offset, isDead = false, daysAgo = 0 } of copies) {
    const timestampMs = NOW_MS - daysAgo * 86_400_000
    model.see(0, timestampMs)
    model.fold({ fact, partition: 0, offset, timestampMs }, isDead)
  }
  const findings = createFindings()
  await model.compareUsers({ first: LIVE, last: 'ffffffff-ffff-ffff-ffff-ffffffffffff' }, findings)
  return findings.byKind().map(({ kind }) => kind)
}

it('the delivery of a record that the log repeats has the place of the first copy', async () => {
  expect(await audited([{ offset: 3n }, { offset: 7n }], 3)).toEqual([])
  expect(await audited([{ offset: 3n }, { offset: 7n }], 7)).toEqual(['webhooks.deliveries: place'])
})

it('the delivery may have the place of a dead letter that was retried before or after the other copy', async () => {
  const copies = [{ offset: 3n, isDead: true as const }, { offset: 7n }]
  expect(await audited(copies, 3)).toEqual([])
  expect(await audited(copies, 7)).toEqual([])
})

it('a delivery that was deleted with its age is not expected in the place of a later copy', async () => {
  expect(await audited([{ offset: 3n, daysAgo: 31 }, { offset: 7n }], undefined)).toEqual([])
  expect(await audited([{ offset: 3n }, { offset: 7n }], undefined)).toEqual(['webhooks.deliveries: missing'])
})

/** A replay of the offsets from 2 on, of which 9 is the next, and of the day of the record. */
const replayOf = (rest: object = {}) => ({
  replayId: REPLAY,
  isLive: false,
  beginOffset: 2,
  nextOffset: 9,
  fromAt: '2026-11-02T00:00:00.000Z',
  toAt: '2026-11-03T00:00:00.000Z',
  events: null,
  requestedAt: AT,
  ...rest,
})

it('a replay has the deliveries of its records, in the places of their first copies', async () => {
  const copies = [{ offset: 3n }, { offset: 7n }]
  expect(await audited(copies, 3, replayOf())).toEqual([])
  expect(await audited(copies, 7, replayOf())).toEqual(['webhooks.deliveries: place'])
  expect(await audited(copies, undefined, replayOf())).toEqual(['webhooks.deliveries: missing'])
  expect(await audited([{ offset: 1n }, { offset: 7n }], 7, replayOf())).toEqual([])
})

it.each([
  ['places that it has not read', { nextOffset: 3 }],
  ['places before its beginning', { beginOffset: 4 }],
  ['earlier times', { fromAt: '2026-11-02T10:00:00.001Z' }],
  ['times from its end on', { toAt: AT }],
])('a replay has no deliveries of %s', async (_, rest) => {
  expect(await audited([{ offset: 3n }], 3, replayOf(rest))).toEqual(['webhooks.deliveries: replay'])
  expect(await audited([{ offset: 3n }], undefined, replayOf(rest))).toEqual([])
})

it('a replay of other events, or whose deliveries are deleted with their age, needs none', async () => {
  expect(await audited([{ offset: 3n }], undefined, replayOf({ events: ['form.queued'] }))).toEqual([])
  expect(await audited([{ offset: 3n }], undefined, replayOf({ requestedAt: '2026-10-02T10:00:00.000Z' }))).toEqual([])
  expect(await audited([{ offset: 3n, daysAgo: 31 }], undefined, replayOf())).toEqual(['webhooks.deliveries: missing'])
})
