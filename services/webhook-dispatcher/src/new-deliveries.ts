import type { Recorded } from '@nextvisit/consumer'
import type { AnyFormFact, Webhook } from '@nextvisit/contracts'
import type { NewRow, Sql } from '@nextvisit/database'
import { capturedMembersOf, deliveryIdOf, LIVE_STREAM, type ThinPayload } from '@nextvisit/domain'
import type { EndpointRef } from '@nextvisit/catalog'
import { isSampled } from '@nextvisit/service-kit'
import { deliveries, turns } from './tables.ts'

export type NewDelivery = NewRow<typeof deliveries>

/** A stream of deliveries of an endpoint: its live stream, or a replay. */
export interface DeliveryStreamOf extends EndpointRef {
  readonly replayId: string
  readonly webhook: Webhook
}

/** The payload of a record, and its text: one for all endpoints. */
export interface Report {
  readonly type: ThinPayload['type']
  readonly body: string
}

/** Returns the delivery of a record. */
export function deliveryOf(
  { organization, project, endpointId, replayId, webhook }: DeliveryStreamOf,
  { fact, partition, offset, traceparent }: Recorded<AnyFormFact>,
  { type, body }: Report,
  createdAt: string,
): NewDelivery {
  const stream = { organization, project, endpointId, replayId }
  return {
    ...stream,
    deliveryId: deliveryIdOf({ ...stream, addedAt: webhook.addedAt }, { webhookId: fact.id, type }),
    partition,
    sourceOffset: offset,
    causeOffset: 'causeOffset' in fact ? fact.causeOffset : undefined,
    userId: fact.userId,
    webhookId: fact.id,
    type,
    at: fact.at,
    body,
    capture: capturedMembersOf(type, webhook.include),
    // A replay repeats what an old trace has shown.
    traceparent: replayId === LIVE_STREAM && isSampled(traceparent) ? traceparent : undefined,
    status: 'pending',
    attempts: 0,
    round: 0,
    createdAt,
    pendingSince: createdAt,
  }
}

/**
 * Returns statements that write deliveries, and let each have its turn. A delivery that exists stays: the log may contain a record twice.
 * A turn that exists is locked, so that a sender that ends it at the same time sees the new delivery.
 */
export function writeDeliveries(rows: readonly NewDelivery[]): Sql[] {
  const joining = rows.map(({ organization, project, userId, endpointId, replayId, partition, createdAt }) => {
    return { organization, project, userId, endpointId, replayId, partition, nextAt: createdAt }
  })
  return [...deliveries.insertMissing(rows), ...turns.upsert(joining)]
}
