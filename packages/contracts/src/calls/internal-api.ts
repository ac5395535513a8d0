import { z } from 'zod'
import { Uuid } from '../primitives.ts'
import {
  DeadLetter,
  DeadLetterDecision,
  deadLetterCalls,
  LogPosition,
  MAX_DECIDED_DEAD_LETTERS,
  RecordContent,
  SeenDeadLetters,
} from './dead-letters.ts'
import { LeaseQuestion, Reservation, ReserveVerdict, ReturnedUnits } from './metering.ts'
import { PartitionStatus } from './operations.ts'
import { Claim, ClaimVerdict, ReleasedClaim } from './trait-registry.ts'
import { Existence, UserLookUp } from './user-projector.ts'

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

export const ReserveRequest = z.object({ reservations: z.array(Reservation).max(1_000) })
export type ReserveRequest = z.infer<typeof ReserveRequest>
export const ReserveAnswer = z.object({ verdicts: z.array(ReserveVerdict) })
export const ReleaseRequest = z.object({ recordIds: z.array(Uuid).max(1_000) })
export type ReleaseRequest = z.infer<typeof ReleaseRequest>
export const LeaseRequest = z.object({ questions: z.array(LeaseQuestion).max(1_000) })
export type LeaseRequest = z.infer<typeof LeaseRequest>
export const LeaseAnswer = z.object({ granted: z.array(z.boolean()) })
export const ReturnLeasedRequest = z.object({ returned: z.array(ReturnedUnits).max(1_000) })
export type ReturnLeasedRequest = z.infer<typeof ReturnLeasedRequest>
export const ClaimRequest = z.object({ claims: z.array(Claim).max(1_000) })
export type ClaimRequest = z.infer<typeof ClaimRequest>
export const ClaimAnswer = z.object({ verdicts: z.array(z.array(ClaimVerdict)) })
export const ReleaseClaimsRequest = z.object({ claims: z.array(ReleasedClaim).max(1_000) })
export const LookUpUsersRequest = z.object({ users: z.array(UserLookUp).max(1_000) })
export type LookUpUsersRequest = z.infer<typeof LookUpUsersRequest>
export const LookUpUsersAnswer = z.object({ users: z.array(Existence) })
export const OwnedPartition = PartitionStatus
export type OwnedPartition = PartitionStatus

const calls = deadLetterCalls
export const DeadLetterCausesAnswer = calls.readCauses.answer
export type DeadLetterCausesAnswer = z.infer<typeof DeadLetterCausesAnswer>
export const DeadLettersQuery = calls.list.question
export const DeadLettersAnswer = calls.list.answer
export type DeadLettersAnswer = z.infer<typeof DeadLettersAnswer>
export const RecordPlace = LogPosition
export type RecordPlace = LogPosition
export const DeadLetterAtAnswer = calls.readAt.answer
export type DeadLetterAtAnswer = z.infer<typeof DeadLetterAtAnswer>
export const DecidedLettersQuery = calls.listDecided.question
export const DecidedLettersAnswer = calls.listDecided.answer
export type DecidedLettersAnswer = z.infer<typeof DecidedLettersAnswer>
export const DeadLetterQuery = z.object({ id: DeadLetter.shape.id, withContent: z.boolean() })
export const DeadLetterAnswer = DeadLetter.extend({ content: RecordContent.nullable() })
export type DeadLetterAnswer = z.infer<typeof DeadLetterAnswer>
export const MAX_DECIDED_LETTERS = MAX_DECIDED_DEAD_LETTERS
export const SelectedLetters = SeenDeadLetters
export type SelectedLetters = SeenDeadLetters
export const Decision = DeadLetterDecision
export type Decision = DeadLetterDecision
export const DecideDeadLetters = z.object({
  selected: SelectedLetters,
  decision: Decision,
  by: calls.decide.question.shape.by,
})
export const DecidedAnswer = calls.decide.answer.omit({ isFull: true })
export type DecidedAnswer = z.infer<typeof DecidedAnswer>
export const DecisionQuery = calls.readDecision.question
export const DecisionAnswer = calls.readDecision.answer
export type DecisionAnswer = z.infer<typeof DecisionAnswer>
export const SetAside = calls.setAside.question
export const SetAsideAnswer = calls.setAside.answer
export type SetAsideAnswer = z.infer<typeof SetAsideAnswer>
