import type { Unchecked } from '@nextvisit/contracts'
import { isoInstant } from '@nextvisit/domain'
import type { CheckedRequest } from '../http/route.ts'
import type { Published, UserPartition } from '../publishing/user-event-publisher.ts'
import type { KnownUsers } from './known-users.ts'
import type { Metering } from './metering.ts'
import type { TraitRegistry } from './trait-registry.ts'
import type { Release } from './verdicts.ts'

/** The services and caches that policy asks. */
export interface AdmissionParts {
  readonly knownUsers: KnownUsers
  readonly metering: Metering
  readonly traitRegistry: TraitRegistry
}

/** A request that waits for admission: its body follows the rules, and the partition of its user is known. */
export interface ItemToAdmit<Body> {
  readonly request: CheckedRequest
  readonly body: Body
  readonly user: UserPartition
}

/** The outcome of a check that does not refuse the record. */
export interface Passed {
  readonly outcome: 'passed'
  /** Names the check if it could not be made. */
  readonly unchecked: readonly Unchecked[]
}

/** A fact with all verdicts of policy. */
export interface Admitted<Fact> {
  readonly outcome: 'admitted'
  readonly fact: Fact
  /**
   * Caches after an ack, releases reservations and claims after a failure, and leaves unknown outcomes to the services.
   */
  readonly conclude: (published: Published) => Promise<void>
}

/** Gives back everything that an item acquired, or may have: services act on unanswered calls, too. */
export function releaseAll(acquired: readonly Release[], deadlineAt?: number): Promise<unknown> {
  return Promise.all(acquired.map((release) => release(deadlineAt)))
}

/** Returns the fields that every admitted fact has. */
export function commonFields({ request, user }: ItemToAdmit<unknown>) {
  const { kind, environment } = request.key.entry
  const { organization, project } = request.project
  return {
    id: request.requestId,
    organization,
    project,
    userId: user.userId,
    received: isoInstant(request.receivedMs),
    environment,
    source: kind,
    keyed: typeof request.idempotency === 'object',
  } as const
}

/** Returns the reference to a record in its reservations and claims. */
export function recordRefOf({ request, user }: ItemToAdmit<unknown>) {
  const { organization, project } = request.project
  return { recordId: request.requestId, partition: user.partition, organization, project } as const
}
