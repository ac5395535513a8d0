import {
  ConditionLeaf,
  DeviceFacts,
  DeviceInfo,
  Definition,
  ErrorBody,
  EventsPage,
  FormDecision,
  GateOutcome,
  IdentifyUserAnswer,
  IdentifyUserBody,
  LiveAnswer,
  QueuedForm,
  ReadyAnswer,
  SegmentsPage,
  SegmentUsersPage,
  TrackEventAnswer,
  TrackEventBody,
  TraitsPage,
  TraitValue,
  Trigger,
  UsageOverview,
  UserAnswer,
  UserAttributes,
  UserFormsAnswer,
  VisitAnswer,
  WaitingForm,
} from '@nextvisit/contracts'
import { z } from 'zod'
import type { JsonSchema, Reference } from './open-api.ts'

/** The schemas that have a name in the document: the contracts' own, and parts of them that are worth a name. */
export const SCHEMAS = {
  IdentifyUserBody,
  UserAttributes,
  DeviceInfo,
  IdentifyUserAnswer,
  VisitAnswer,
  TrackEventBody,
  TrackEventAnswer,
  UserAnswer,
  UserFormsAnswer,
  TraitValue,
  DeviceFacts,
  WaitingForm,
  FormDecision,
  GateOutcome,
  ConditionLeaf,
  Trigger,
  QueuedForm,
  UsageOverview,
  TraitsPage,
  EventsPage,
  Definition,
  SegmentsPage,
  SegmentUsersPage,
  LiveAnswer,
  ReadyAnswer,
  ErrorBody,
} as const satisfies Record<string, z.ZodType>

export type SchemaName = keyof typeof SCHEMAS

export function schemaRef(name: SchemaName): Reference {
  return { $ref: refOf(name) }
}

/** `components.schemas`. As of what comes in: an object that ignores unknown members says so, an answer's says it has none. */
export function componentSchemas(): Readonly<Record<string, JsonSchema>> {
  const registry = z.registry<{ id: string }>()
  for (const [id, schema] of Object.entries(SCHEMAS)) registry.add(schema, { id })
  const { schemas } = z.toJSONSchema(registry, { target: 'draft-2020-12', io: 'input', uri: refOf, override: tidy })
  return Object.fromEntries(
    // A component is known by its place; an `$id` would change what its references are relative to.
    Object.entries(schemas).map(([name, { $schema: _dialect, $id: _id, ...schema }]) => [name, schema]),
  )
}

function refOf(name: string): string {
  return `#/components/schemas/${name}`
}

/** Leaves out what says nothing to a reader: a format's own pattern, and the bounds of a double's whole numbers. */
function tidy({ jsonSchema }: { jsonSchema: JsonSchema }): void {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
}
