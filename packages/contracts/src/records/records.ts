import { z } from 'zod'
import type { KeyKind } from '../primitives.ts'
import { OrganizationConfigured } from './catalog.ts'
import { FormCancelled, FormDelivered, FormExpired, FormQueued } from './form-events.ts'
import { type Topic, TOPICS } from './topics.ts'
import { EventTracked, IdentifyRequested, VisitAnswered } from './user-events.ts'

/** Converts a value of one schema version to the next. Bytes in the log are never rewritten. */
type Upcaster = (value: Readonly<Record<string, unknown>>) => Record<string, unknown>

/** A type of record: its topic, and its newest schema, which describes it. */
export interface RecordType<Type extends string = string> {
  readonly topic: Topic
  readonly schema: z.ZodType<{ readonly type: Type }>
  /** One per earlier schema version, oldest first. Absent: the type has one version. */
  readonly upcasters?: readonly Upcaster[]
}

/**
 * Every type of record. A line adds a type to the union of its topic, to the codec and to `docs/reference/records`; the compiler
 * then names each place that must handle it.
 */
export const RECORDS = recordTable({
  IdentifyRequested: { topic: TOPICS.userEvents, schema: IdentifyRequested },
  EventTracked: { topic: TOPICS.userEvents, schema: EventTracked },
  VisitAnswered: { topic: TOPICS.userEvents, schema: VisitAnswered },
  FormQueued: { topic: TOPICS.formEvents, schema: FormQueued },
  FormDelivered: { topic: TOPICS.formEvents, schema: FormDelivered },
  FormCancelled: { topic: TOPICS.formEvents, schema: FormCancelled },
  FormExpired: { topic: TOPICS.formEvents, schema: FormExpired },
  OrganizationConfigured: { topic: TOPICS.catalog, schema: OrganizationConfigured },
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

/** Any record on `user-events`. */
export const UserFact = schemaOn(TOPICS.userEvents)
export type UserFact = FactOn<typeof TOPICS.userEvents>

/** A fact that records a caller's request or an imported line, with the members that describe it (`requestMembers`). */
export type RequestFact = Extract<UserFact, { readonly source: KeyKind }>

/** Returns true for the facts that callers cause, in contrast to those that the gateway adds, such as `VisitAnswered`. */
export function isRequestFact(fact: UserFact): fact is RequestFact {
  return 'source' in fact
}

/** Any record on `form-events`: the log of the evaluator's decisions. */
export const FormFact = schemaOn(TOPICS.formEvents)
export type FormFact = FactOn<typeof TOPICS.formEvents>

/** Returns the schema of any record on a topic. */
export function schemaOn<OneTopic extends Topic>(topic: OneTopic): z.ZodType<FactOn<OneTopic>> {
  const schemas = Object.values<RecordType>(RECORDS).flatMap((record) => (record.topic === topic ? record.schema : []))
  return z.discriminatedUnion('type', schemas as unknown as [z.ZodObject]) as unknown as z.ZodType<FactOn<OneTopic>>
}

/** Returns the schema version that is written now. */
export function schemaVersionOf({ upcasters = [] }: RecordType): number {
  return upcasters.length + 1
}

/** Checks at compile time that each line's key is the `type` in its schema. */
function recordTable<const Table extends { readonly [Type in keyof Table]: RecordType<Type & string> }>(
  table: Table,
): Table {
  return table
}
