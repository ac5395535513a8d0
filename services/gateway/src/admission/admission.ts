import { isoInstant } from '@nextvisit/domain'
import type { Refusal } from '../api/refusals.ts'
import type { CheckedRequest } from '../http/route.ts'
import type { Published, RecordPlace } from '../publishing/record-log.ts'
import type { KnownUsers } from './known-users.ts'
import type { Metering } from './metering.ts'
import type { TraitRegistry } from './trait-registry.ts'

/** What policy asks. */
export interface AdmissionParts {
  readonly knownUsers: KnownUsers
  readonly metering: Metering
  readonly traitRegistry: TraitRegistry
}

/** A fact with every verdict in it. */
export interface Admitted<Fact> {
  readonly outcome: 'admitted'
  readonly fact: Fact
  /** Remembers what an ack proves; gives back what certainly was not published; leaves the unknown to its service. */
  readonly settle: (published: Published) => Promise<void>
}

/** An admitted fact, or why the request is refused. */
export type Admission<Fact> = Admitted<Fact> | Refusal

/** What every admitted fact says of its request. */
export function commonFields(request: CheckedRequest, place: RecordPlace) {
  const { kind: source, environment } = request.key.entry
  const { organization, project } = request.project
  return {
    id: request.requestId,
    organization,
    project,
    userId: place.userId,
    received: isoInstant(request.receivedMs),
    environment,
    source,
    keyed: typeof request.idempotent === 'object',
  } as const
}

/** How a reservation or a claim names the record that it is made for. */
export function recordRefOf(request: CheckedRequest, place: RecordPlace) {
  const { organization, project } = request.project
  return { recordId: request.requestId, partition: place.partition, organization, project } as const
}
