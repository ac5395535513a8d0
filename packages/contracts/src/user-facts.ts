import { z } from 'zod'
import { DeviceFacts } from './device-info.ts'
import { Environment, Instant, KeyKind, SlugId, Uuid } from './primitives.ts'
import { TraitOperations } from './traits.ts'

/** What every fact about a user carries. */
const common = {
  /** The record's id, equal to the answer's `X-Request-Id`: UUIDv7, or UUIDv5 where an `Idempotency-Key` was given. */
  id: Uuid,
  organization: SlugId,
  project: SlugId,
  /** UUIDv5 of the userName in the project's namespace. The Kafka key. */
  userId: Uuid,
  /** The gateway's clock when it had read the request. */
  received: Instant,
}

/** What admission could not decide because an owner did not answer in time (decisions.md, Busy and broken). */
export const Unchecked = z.enum(['user', 'mau', 'event-limit', 'event-name', 'traits'])
export type Unchecked = z.infer<typeof Unchecked>

/**
 * History that `nextvisit import` brought in: it fills in what is not known and sets nothing off (decisions.md, Import).
 * Left out of every other record.
 */
const imported = z.literal(true).optional()

/** A user said who they are: admitted trait operations and device facts. From an SDK key it is a visit. */
export const IdentifyRequested = z.object({
  type: z.literal('IdentifyRequested'),
  ...common,
  environment: Environment,
  source: KeyKind,
  /** True where an `Idempotency-Key` was given: only these need the consumers' ledger. */
  keyed: z.boolean(),
  userName: z.string(),
  operations: TraitOperations,
  device: DeviceFacts,
  /** Slugs that this record brought into the project. */
  registeredTraits: z.array(z.string()),
  /** Slugs over the unique-traits cap; their values never reach the log. */
  strippedTraits: z.array(z.string()),
  /** Slugs marked disabled; likewise. */
  droppedTraits: z.array(z.string()),
  /** Known device and PII fields that the project does not keep; likewise. */
  filteredFields: z.array(z.string()),
  unchecked: z.array(Unchecked),
  imported,
  /** When they said so, where it was imported and its line knows; else it is `received`. */
  occurredAt: Instant.optional(),
})
export type IdentifyRequested = z.infer<typeof IdentifyRequested>

/** One thing that happened to a user. */
export const EventTracked = z.object({
  type: z.literal('EventTracked'),
  ...common,
  environment: Environment,
  source: KeyKind,
  keyed: z.boolean(),
  userName: z.string(),
  eventName: z.string(),
  /** The event's identity (decisions.md, Track event). */
  slug: z.string(),
  occurredAt: Instant,
  /** This record brought the event into the project. */
  newEvent: z.boolean(),
  /** Counts toward the organization's event limit: environment `P`. */
  metered: z.boolean(),
  /** Not older than 15 minutes when it was received; nobody judges this again. */
  evaluateTriggers: z.boolean(),
  unchecked: z.array(Unchecked),
  imported,
})
export type EventTracked = z.infer<typeof EventTracked>

/** The gateway has answered a visit with a form: the offer is confirmed (forms.md, The queue). */
export const VisitAnswered = z.object({
  type: z.literal('VisitAnswered'),
  ...common,
  /** The visit's own record. `received` is the visit's. */
  visitId: Uuid,
  formId: SlugId,
  /** The queue row that was offered. */
  queuedId: Uuid,
})
export type VisitAnswered = z.infer<typeof VisitAnswered>

/** Everything on the topic `user-events`. */
export const UserFact = z.discriminatedUnion('type', [IdentifyRequested, EventTracked, VisitAnswered])
export type UserFact = z.infer<typeof UserFact>
