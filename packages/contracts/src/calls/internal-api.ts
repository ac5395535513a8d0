import { z } from 'zod'
import { Instant, Month, SlugId, Uuid } from '../primitives.ts'
import { DeviceFacts } from '../records/device-info.ts'
import { slugMap, traitMap } from '../records/traits.ts'
import { WaitingForm } from './queue-row.ts'

/**
 * What services ask each other over HTTP on their internal ports: JSON, never published, `Authorization: Bearer` with a
 * shared token. Questions of admission are batched: one request carries many, answers come in the same order.
 */
export const INTERNAL_ROUTES = {
  /** metering: room under limits. */
  reserve: '/internal/reservations',
  /** metering: give back what certainly was not published. */
  release: '/internal/reservations/release',
  /** metering: lease room under event limits. */
  lease: '/internal/leases',
  /** metering: give back units of leases that are certainly not used. */
  returnLeased: '/internal/leases/return',
  /** trait-registry: claim names and slugs not known to the gateway. */
  claim: '/internal/claims',
  /** trait-registry: give back the names of what certainly was not published. */
  releaseClaims: '/internal/claims/release',
  /** user-projector: does the user exist, behind the barrier of their partition. */
  lookUpUsers: '/internal/users/look-up',
  /** user-projector: one user's read model, `POST` with {@link UserQuery}; 404 where there is none. */
  readUser: '/internal/users/read',
  /** user-projector: how many are in these segments, `POST` with {@link SegmentsQuery}. */
  readSegments: '/internal/segments/read',
  /** user-projector: a page of a segment's members, `POST` with {@link SegmentMembersQuery}. */
  readSegmentMembers: '/internal/segments/members/read',
  /** form-trigger-evaluator: one user's queue, `POST` with {@link UserQuery}. */
  readQueue: '/internal/queue/read',
  /** form-trigger-evaluator: why forms did, or did not, reach a user, `POST` with {@link UserQuery}; 404 where nobody has identified them. */
  readForms: '/internal/forms/read',
  /** form-trigger-evaluator: how often what these triggers count has happened to a user, `POST` with `TriggerCountsQuery`. */
  readTriggerCounts: '/internal/triggers/counts/read',
  /** form-trigger-evaluator: what became of forms lately, as this process alone has counted it, `POST` with `FormStepsQuery`. */
  readFormSteps: '/internal/forms/steps/read',
  /** form-trigger-evaluator: how many of these forms are open, over all users, `POST` with `OpenCountsQuery`. */
  readOpenCounts: '/internal/forms/open/counts/read',
  /** form-trigger-evaluator: a page of a form's open rows, `POST` with `OpenRowsQuery`. */
  readOpenRows: '/internal/forms/open/rows/read',
  /** metering: a month's counters of a project, `POST` with {@link UsageQuery}. */
  readUsage: '/internal/usage/read',
  /** trait-registry: a page of definitions, `POST` with {@link DefinitionsQuery}. */
  readDefinitions: '/internal/definitions/read',
  /** gateway: what was refused of late, `POST` with `RefusalsQuery`. */
  readRefusals: '/internal/refusals/read',
  /** every consumer: the partitions that this process owns, `POST` with an empty body. */
  readOperations: '/internal/operations/read',
  /** every consumer: the dead letters of the service by cause, `POST` with an empty body. */
  readDeadLetterCauses: '/internal/dead-letters/causes/read',
  /** every consumer: a page of the service's dead letters of one cause, `POST` with {@link DeadLettersQuery}. */
  listDeadLetters: '/internal/dead-letters/list',
  /** every consumer: one dead letter, `POST` with {@link DeadLetterQuery}; 404 where there is none. */
  readDeadLetter: '/internal/dead-letters/read',
  /** every consumer: its dead letter of one record of the log, `POST` with {@link RecordPlace}. */
  readDeadLetterAt: '/internal/dead-letters/at/read',
  /** every consumer: a page of the letters that somebody has decided on, `POST` with {@link DecidedLettersQuery}. */
  listDecidedLetters: '/internal/dead-letters/decided/list',
  /** every consumer: retry or discard, `POST` with {@link DecideDeadLetters}. */
  decideDeadLetters: '/internal/dead-letters/decide',
  /** every consumer: what became of the letters of a decision, `POST` with {@link DecisionQuery}. */
  readDecision: '/internal/dead-letters/decisions/read',
  /** every consumer: make the record that a partition is halted at a dead letter, `POST` with {@link SetAside}. */
  setAside: '/internal/halts/set-aside',
} as const

const place = { organization: SlugId, project: SlugId }
/** A record that is not published yet: its id, and its partition of `user-events`, whose owner cleans up if it never arrives. */
const recordRef = { recordId: Uuid, partition: z.number().int().min(0) }

const room = {
  ...place,
  month: Month,
  limit: z.number().int(),
  /** Answers whether there is room, and reserves nothing. */
  dryRun: z.literal(true).optional(),
}

export const ReserveRequest = z.object({
  reservations: z
    .array(
      z.discriminatedUnion('kind', [
        /** One tracked event under the organization's `eventsPerMonth`. */
        z.object({ kind: z.literal('event'), ...recordRef, ...room }),
        /** A user's first activity in the month under the project's `monthlyActiveUsers`. */
        z.object({ kind: z.literal('mau'), ...recordRef, ...room, userId: Uuid }),
      ]),
    )
    .max(1_000),
})
export type ReserveRequest = z.infer<typeof ReserveRequest>
export type Reservation = ReserveRequest['reservations'][number]
/**
 * `counted`: the user already counts this month, or the record is a duplicate of one that is folded; nothing was reserved.
 * `held`: no room now, but some of it is only reserved, for records that are not folded and may never be: ask again.
 * `room`: there is room, but this was a dry run.
 */
export const ReserveVerdict = z.enum(['granted', 'counted', 'held', 'exhausted', 'room'])
export type ReserveVerdict = z.infer<typeof ReserveVerdict>
export const ReserveAnswer = z.object({ verdicts: z.array(ReserveVerdict) })

export const ReleaseRequest = z.object({ recordIds: z.array(Uuid).max(1_000) })
export type ReleaseRequest = z.infer<typeof ReleaseRequest>

/** Of one request to trait-registry; also of one question: an identify has at most so many operations. */
export const MAX_CLAIMED_NAMES = 250

const names = {
  kind: z.enum(['trait', 'event']),
  ...place,
  /** In the order in which new ones are to be admitted. */
  slugs: z.array(z.string()).min(1).max(MAX_CLAIMED_NAMES),
}

export const ClaimRequest = z.object({
  claims: z
    .array(
      z.object({
        ...recordRef,
        ...names,
        /** Cap on the project's unique names of this kind. */
        limit: z.number().int(),
        /** Slugs marked disabled do not count toward the cap on traits. */
        disabled: z.array(z.string()).default([]),
        /** Answers whether there is room, and claims nothing. */
        dryRun: z.literal(true).optional(),
      }),
    )
    .max(1_000),
})
export type ClaimRequest = z.infer<typeof ClaimRequest>
export type Claim = ClaimRequest['claims'][number]
/**
 * `registered`: folded from a record. `claimed`: another request registers it just now. `new`: this request registers it
 * (`newEvent: true`). `no-room`: the cap is reached. `room`: there is room, but this was a dry run.
 */
export const ClaimVerdict = z.enum(['registered', 'claimed', 'new', 'no-room', 'room'])
export type ClaimVerdict = z.infer<typeof ClaimVerdict>
/** For each claim, for each of its slugs, in order. */
export const ClaimAnswer = z.object({ verdicts: z.array(z.array(ClaimVerdict)) })

export const ReleaseClaimsRequest = z.object({
  claims: z.array(z.object({ recordId: Uuid, ...names })).max(1_000),
})
export type ReleasedClaim = z.infer<typeof ReleaseClaimsRequest>['claims'][number]

export const UserQuery = z.object({ ...place, userId: Uuid })
export type UserQuery = z.infer<typeof UserQuery>

export const LookUpUsersRequest = z.object({
  users: z.array(UserQuery.extend({ partition: z.number().int().min(0) })).max(1_000),
})
export type LookUpUsersRequest = z.infer<typeof LookUpUsersRequest>
export type UserLookUp = LookUpUsersRequest['users'][number]
/** `unknown`: the user's partition is not folded far enough to say that the user is missing. */
export const Existence = z.enum(['exists', 'missing', 'unknown'])
export type Existence = z.infer<typeof Existence>
/** For each user, in order. */
export const LookUpUsersAnswer = z.object({ users: z.array(Existence) })

/** Events of one user that an answer shows; a project may have many more names. */
export const MAX_EVENTS_SHOWN = 1_000

const EventSummary = z.object({ count: z.number().int(), firstAt: Instant, lastAt: Instant })
type EventSummary = z.infer<typeof EventSummary>
const isEventSummary = (input: unknown): input is EventSummary => EventSummary.safeParse(input).success

/** The user projector's read model of one user. */
export const UserReadModel = z.object({
  userId: Uuid,
  userName: z.string(),
  traits: traitMap(),
  droppedTraitOperations: z
    .number()
    .int()
    .optional()
    .describe(
      'How many trait operations and device facts were dropped, as the user has reached a limit; absent: none.',
    ),
  country: z.string().nullable(),
  device: DeviceFacts,
  firstSeenAt: Instant,
  lastSeenAt: Instant,
  /** By slug, at most {@link MAX_EVENTS_SHOWN}. */
  events: slugMap(EventSummary, isEventSummary),
  moreEvents: z
    .literal(true)
    .optional()
    .describe('The user has had more events than are shown here: the first 1,000 by slug.'),
  segments: z.array(z.string()),
})
export type UserReadModel = z.infer<typeof UserReadModel>

export const SegmentsQuery = z.object({
  ...place,
  /** With the definition that the asker knows: progress is that of exactly this one. */
  segments: z.array(z.object({ id: SlugId, definition: z.string() })).max(1_000),
})
export type SegmentsQuery = z.infer<typeof SegmentsQuery>
export const SegmentsAnswer = z.object({
  /** In the order asked for. */
  segments: z.array(z.object({ members: z.number().int(), usersComputed: z.number().int() })),
  usersTotal: z.number().int(),
})
export type SegmentsAnswer = z.infer<typeof SegmentsAnswer>

export const SegmentMembersQuery = z.object({
  ...place,
  segmentId: SlugId,
  limit: z.number().int().min(1).max(1_000),
  after: Uuid.optional(),
})
export type SegmentMembersQuery = z.infer<typeof SegmentMembersQuery>
export const SegmentMember = z.object({ userId: Uuid, userName: z.string(), since: Instant })
export const SegmentMembersAnswer = z.object({ users: z.array(SegmentMember), next: z.string().nullable() })
export type SegmentMembersAnswer = z.infer<typeof SegmentMembersAnswer>

export const QueueAnswer = z.object({ waiting: z.array(WaitingForm) })

export const UsageQuery = z.object({ ...place, month: Month })
export type UsageQuery = z.infer<typeof UsageQuery>
export const UsageAnswer = z.object({
  month: Month,
  events: z.number().int(),
  monthlyActiveUsers: z.number().int(),
  uniqueEvents: z.number().int(),
  uniqueTraits: z.number().int(),
})
export type UsageAnswer = z.infer<typeof UsageAnswer>

export const DefinitionsQuery = z.object({
  kind: z.enum(['trait', 'event']),
  ...place,
  limit: z.number().int().min(1).max(1_000),
  after: z.string().optional(),
  /** Only slugs that begin with it. */
  prefix: z.string().optional(),
})
export type DefinitionsQuery = z.infer<typeof DefinitionsQuery>
export const Definition = z.object({
  slug: z.string(),
  name: z.string(),
  firstSeenAt: Instant,
  lastSeenAt: Instant,
  count: z.number().int(),
})
export type Definition = z.infer<typeof Definition>
export const DefinitionsAnswer = z.object({ definitions: z.array(Definition), next: z.string().nullable() })
export type DefinitionsAnswer = z.infer<typeof DefinitionsAnswer>

/** A partition that a consumer's process owns, or waits to own. */
export const OwnedPartition = z.object({
  topic: z.string(),
  partition: z.number().int(),
  /** The checkpoint, as a text: offsets have 64 bits. */
  nextOffset: z.string().regex(/^\d{1,19}$/),
  lagRecords: z.number().int(),
  lagSeconds: z.number(),
  alarms: z.array(
    z.object({
      kind: z.enum(['halted', 'stalled', 'ticks']),
      offset: z.string(),
      /** Of the record that halts the partition; null: no record does. */
      recordId: z.string().nullable(),
      /** Whether that record can be set aside now: not before the alarm is written. */
      canSetAside: z.boolean(),
      code: z.string(),
      message: z.string(),
      since: Instant,
    }),
  ),
})
export type OwnedPartition = z.infer<typeof OwnedPartition>
export const OperationsAnswer = z.object({ partitions: z.array(OwnedPartition) })
export type OperationsAnswer = z.infer<typeof OperationsAnswer>
