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

interface SpecCopy {
  readonly offset: bigint
  readonly isDead?: true
  readonly daysAgo?: number
}

/** Audits the delivery of a record with copies at these offsets, that is in the place `sourceOffset`; undefined: there is none. */
async function audited(copies: readonly SpecCopy[], sourceOffset: number | undefined) {
  async function* rows(text: string) {
    const { organization, project } = user
    const of = { organization, project, endpointId: 'crm', partition: 0 }
    if (text.includes('FROM positions')) yield { ...of, addedAt: endpoint.addedAt, nextOffset: 0, isLive: true }
    if (!text.includes('FROM deliveries') || text.includes('DISTINCT') || sourceOffset === undefined) return
    const body = JSON.stringify({ type: 'form.expired', timestamp: AT, data: user })
    yield {
      ...of,
      ...user,
      replayId: LIVE,
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
