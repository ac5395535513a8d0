import { randomUUID } from 'node:crypto'
import { TOPICS } from '@nextvisit/contracts'
import { formQueued } from '@nextvisit/contracts/fixtures'
import { LIVE_STREAM } from '@nextvisit/domain'
import { expect, it } from 'vitest'
import { webhookOf } from '../test/changing-catalog.ts'
import { deliveryOf } from './new-deliveries.ts'

const webhook = webhookOf({ id: 'crm', addedAt: '2026-01-01T00:00:00.000Z' })
const endpoint = { organization: 'acme', project: 'shop', endpointId: 'crm', webhook }
const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`

it.each([
  ['a live delivery', LIVE_STREAM, traceparent],
  ['a replay', randomUUID(), undefined],
])('%s has this trace of its record: %s, %s', (_, replayId, kept) => {
  const fact = formQueued({ id: randomUUID() })
  const record = { fact, topic: TOPICS.formEvents, partition: 0, offset: 1n, timestampMs: 0, traceparent }
  const delivery = deliveryOf({ ...endpoint, replayId }, record, { type: 'form.queued', body: '{}' }, fact.at)
  expect(delivery.traceparent).toBe(kept)
})
