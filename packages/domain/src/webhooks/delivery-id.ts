import type { ProjectRef, WebhookType } from '@nextvisit/contracts'
import { uuidV5 } from '../ids.ts'

/** The `replayId` of the stream of an endpoint that is no replay. */
export const LIVE_STREAM = '00000000-0000-0000-0000-000000000000'

/** The live stream of an endpoint, or one of its replays. */
export interface DeliveryStream extends ProjectRef {
  readonly endpointId: string
  /** As in the catalog: an endpoint that was removed and added again has other deliveries. */
  readonly addedAt: string
  /** {@link LIVE_STREAM}, or the replay. */
  readonly replayId: string
}

/**
 * Returns the id of a delivery. It is the same for the same record and stream, so a record that the log repeats gives one delivery.
 * `webhookId`: the id of the record.
 */
export function deliveryIdOf(
  { organization, project, endpointId, addedAt, replayId }: DeliveryStream,
  { webhookId, type }: { readonly webhookId: string; readonly type: WebhookType },
): string {
  const added = new Date(addedAt).toISOString()
  return uuidV5(`${organization}/${project}/${endpointId}/${added}/${replayId}/${type}`, webhookId)
}
