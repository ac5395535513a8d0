import type { CheckedRequest } from '../route.ts'
import type { RecordPlace } from './admission.ts'

/** What every admitted fact says of its request. */
export function commonFields(request: CheckedRequest, place: RecordPlace) {
  const { kind: source, environment } = request.key.entry
  const { organization, project } = request.project
  return {
    id: request.requestId,
    organization,
    project,
    userId: place.userId,
    received: new Date(request.receivedMs).toISOString(),
    environment,
    source,
    keyed: typeof request.keyed === 'object',
  } as const
}

/** How a reservation or claim names the record that it is made for. */
export function riderOf(request: CheckedRequest, place: RecordPlace) {
  const { organization, project } = request.project
  return { recordId: request.requestId, partition: place.partition, organization, project } as const
}

/** The UTC month of an ISO instant. */
export function monthOf(instant: string): string {
  return instant.slice(0, 7)
}
