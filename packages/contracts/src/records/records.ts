import { z } from 'zod'
import type { KeyKind } from '../primitives.ts'
import { FormContentApplied, OrganizationConfigured } from './catalog.ts'
import { ErasureCompleted, ErasureRequested, SuppressionLifted } from './erasures.ts'
import {
  FormAnswered,
  FormCancelled,
  FormDelivered,
  FormExpired,
  FormQueued,
  QueueErased,
  SealedFormAnswered,
  SegmentEntered,
  SegmentLeft,
} from './form-events.ts'
import { ChangeEnded, ChangeRequested } from './operator-changes.ts'
import { type Topic, TOPICS } from './topics.ts'
import {
  AnswerGiven,
  EventTracked,
  IdentifyRequested,
  SealedAnswerGiven,
  SealedEventTracked,
  SealedIdentifyRequested,
  UserErased,
  VisitAnswered,
} from './user-events.ts'

/** Converts a value of one schema version to the next. Bytes in the log are never rewritten. */
type Upcaster = (value: Readonly<Record<string, unknown>>) => Record<string, unknown>

/** A type of record: its topic, and its newest schema, which describes it. */
export interface RecordType<Type extends string = string> {
  readonly topic: Topic
  readonly schema: z.ZodType<{ readonly type: Type }>
  /** The oldest schema version that can be read. Default: 1. */
  readonly oldestVersion?: number
  /** One per readable version before the newest, oldest first. Absent: one version can be read. */
  readonly upcasters?: readonly Upcaster[]
}

/**
 * Every type of record. A line adds a type to the union of its topic, to the codec and to `docs/reference/records`; the compiler
 * then names each place that must handle it.
 */
export const RECORDS = recordTable({
  // Version 1 had its personal members in clear, and was never released.
  IdentifyRequested: { topic: TOPICS.userEvents, schema: SealedIdentifyRequested, oldestVersion: 2 },
  EventTracked: { topic: TOPICS.userEvents, schema: SealedEventTracked, oldestVersion: 2 },
  AnswerGiven: { topic: TOPICS.userEvents, schema: SealedAnswerGiven },
  VisitAnswered: { topic: TOPICS.userEvents, schema: VisitAnswered },
  UserErased: { topic: TOPICS.userEvents, schema: UserErased },
  FormQueued: { topic: TOPICS.formEvents, schema: FormQueued },
  FormDelivered: { topic: TOPICS.formEvents, schema: FormDelivered },
  FormCancelled: { topic: TOPICS.formEvents, schema: FormCancelled },
  FormExpired: { topic: TOPICS.formEvents, schema: FormExpired },
  FormAnswered: { topic: TOPICS.formEvents, schema: SealedFormAnswered },
  QueueErased: { topic: TOPICS.formEvents, schema: QueueErased },
  SegmentEntered: { topic: TOPICS.formEvents, schema: SegmentEntered },
  SegmentLeft: { topic: TOPICS.formEvents, schema: SegmentLeft },
  FormContentApplied: { topic: TOPICS.catalog, schema: FormContentApplied },
  OrganizationConfigured: { topic: TOPICS.catalog, schema: OrganizationConfigured },
  ErasureRequested: { topic: TOPICS.erasures, schema: ErasureRequested },
  SuppressionLifted: { topic: TOPICS.erasures, schema: SuppressionLifted },
  ErasureCompleted: { topic: TOPICS.erasures, schema: ErasureCompleted },
  ChangeRequested: { topic: TOPICS.operatorChanges, schema: ChangeRequested },
  ChangeEnded: { topic: TOPICS.operatorChanges, schema: ChangeEnded },
})

/** The type of a record, as in its `type` and `ce_type`. */
export type RecordTypeName = keyof typeof RECORDS
export const RECORD_TYPES = Object.keys(RECORDS) as readonly RecordTypeName[]

/** Any record on a topic. */
type FactOn<OneTopic extends Topic> = {
  [Type in RecordTypeName]: (typeof RECORDS)[Type]['topic'] extends OneTopic
    ? z.output<(typeof RECORDS)[Type]['schema']>
    : never
}[RecordTypeName]

/** Any record on `user-events`, as it is in the log: personal members are sealed. */
export const SealedUserFact = schemaOn(TOPICS.userEvents)
export type SealedUserFact = FactOn<typeof TOPICS.userEvents>

/** Any record on `user-events` whose personal members are readable. */
export const UserFact = z.discriminatedUnion('type', [
  IdentifyRequested,
  EventTracked,
  AnswerGiven,
  VisitAnswered,
  UserErased,
])
export type UserFact = z.infer<typeof UserFact>

/** An identify or an event: the activity that users, counts and forms are folded from. */
export type ActivityFact = IdentifyRequested | EventTracked

/** Any record on `user-events`, sealed or readable, for code that reads other members only. */
export type AnyUserFact<Type extends UserFact['type'] = UserFact['type']> = Extract<
  SealedUserFact | UserFact,
  { readonly type: Type }
>
/** The same, of an identify or an event. */
export type AnyActivityFact = Extract<AnyUserFact, { readonly type: ActivityFact['type'] }>

/** Returns true for the facts that callers cause, in contrast to those that services add, such as `VisitAnswered`. */
export function isRequestFact<Fact extends AnyUserFact>(
  fact: Fact,
): fact is Extract<Fact, { readonly source: KeyKind }> {
  return 'source' in fact
}

/** Returns true for an identify and an event. */
export function isActivityFact<Fact extends AnyUserFact>(
  fact: Fact,
): fact is Extract<Fact, { readonly type: ActivityFact['type'] }> {
  return fact.type === 'IdentifyRequested' || fact.type === 'EventTracked'
}

/** Any record on `form-events`, the log of decisions and of changed memberships, as it is in the log: personal members are sealed. */
export const SealedFormFact = schemaOn(TOPICS.formEvents)
export type SealedFormFact = FactOn<typeof TOPICS.formEvents>

/** Any record on `form-events` whose personal members are readable. */
export const FormFact = z.discriminatedUnion('type', [
  FormQueued,
  FormDelivered,
  FormCancelled,
  FormExpired,
  FormAnswered,
  QueueErased,
  SegmentEntered,
  SegmentLeft,
])
export type FormFact = z.infer<typeof FormFact>

/** Any record on `form-events`, sealed or readable, for code that reads other members only. */
export type AnyFormFact<Type extends FormFact['type'] = FormFact['type']> = Extract<
  SealedFormFact | FormFact,
  { readonly type: Type }
>
/** A record about one row of the queue. */
export type QueueRowFact = Extract<SealedFormFact, { readonly queuedId: string }>
/** A record that changes the state of a row. An answer changes none. */
export type QueueStateFact = Exclude<QueueRowFact, { readonly type: 'FormAnswered' }>
/** A record of a changed membership of a segment. */
export type SegmentFact = SegmentEntered | SegmentLeft

/** Returns true for a record of a changed membership of a segment. */
export function isSegmentFact(fact: { readonly type: string }): fact is SegmentFact {
  return fact.type === 'SegmentEntered' || fact.type === 'SegmentLeft'
}

/** Any record on `erasures`. */
export const ErasureFact = schemaOn(TOPICS.erasures)
export type ErasureFact = FactOn<typeof TOPICS.erasures>

/** Any record on `operator-changes`. */
export const OperatorChangeFact = schemaOn(TOPICS.operatorChanges)
export type OperatorChangeFact = FactOn<typeof TOPICS.operatorChanges>

/** Returns the schema of any record on a topic. */
export function schemaOn<OneTopic extends Topic>(topic: OneTopic): z.ZodType<FactOn<OneTopic>> {
  const schemas = Object.values<RecordType>(RECORDS).flatMap((record) => (record.topic === topic ? record.schema : []))
  return z.discriminatedUnion('type', schemas as unknown as [z.ZodObject]) as unknown as z.ZodType<FactOn<OneTopic>>
}

/** Returns the schema version that is written now. */
export function schemaVersionOf({ oldestVersion = 1, upcasters = [] }: RecordType): number {
  return oldestVersion + upcasters.length
}

/** Checks at compile time that each line's key is the `type` in its schema. */
function recordTable<const Table extends { readonly [Type in keyof Table]: RecordType<Type & string> }>(
  table: Table,
): Table {
  return table
}
