import type { UserRow } from '@nextvisit/contracts'

/** Types of lines by `consumer/table`. */
export const TYPE_OF_TABLE: Readonly<Record<string, string>> = {
  'user-projector/users': 'profile',
  'user-projector/user_events': 'event-count',
  'user-projector/form_answers': 'kept-answers',
  'user-projector/segment_members': 'segment',
  'form-trigger-evaluator/users': 'profile',
  'form-trigger-evaluator/event_occurrences': 'event-count',
  'form-trigger-evaluator/form_answers': 'kept-answers',
  'form-trigger-evaluator/queue': 'queued-form',
  'form-trigger-evaluator/shown_forms': 'shown-form',
  'form-trigger-evaluator/decisions': 'decision',
  'answer-collector/offers': 'offer',
  'webhook-dispatcher/deliveries': 'delivery',
  'webhook-dispatcher/turns': 'delivery-turn',
  'metering/mau_members': 'active-month',
  'user-projector/erased_users': 'erasure',
  'trait-registry/erased_users': 'erasure',
  'metering/erased_users': 'erasure',
  'form-trigger-evaluator/erased_users': 'erasure',
  'answer-collector/erased_users': 'erasure',
  'webhook-dispatcher/erased_users': 'erasure',
  'user-eraser/erasure_users': 'erasure',
  'user-eraser/erased_users': 'erasure',
  'user-eraser/erased_keys': 'erasure',
  'user-eraser/erasure_facts': 'erasure',
}

/** They are in the header. */
const IN_HEADER: ReadonlySet<string> = new Set(['organization', 'project', 'user_id'])
const INSTANT_COLUMN = /_at$|^at$|_from$|^since$|^as_of$/
/** Postgres' form of a timestamp in JSON. `infinity` stays. */
const INSTANT = /^\d{4,6}-\d\d-\d\dT[\d:.]+[+-][\d:]+$/
const LIST_OF_MS = /_ms$/

/** Returns a row in readable form: names as in the API, instants in UTC. A table without a type of its own is a `row`. */
export function rowLineOf(source: string, { table, row }: UserRow): { readonly type: string; readonly line: object } {
  const type = TYPE_OF_TABLE[`${source}/${table}`]
  const members = Object.entries(row)
    .filter(([column]) => !IN_HEADER.has(column))
    .map(([column, value]) => [nameOf(column), valueOf(column, value)])
  return { type: type ?? 'row', line: { ...(type === undefined && { table }), ...Object.fromEntries(members) } }
}

function nameOf(column: string): string {
  return column.replace(LIST_OF_MS, '_at').replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function valueOf(column: string, value: unknown): unknown {
  if (LIST_OF_MS.test(column) && Array.isArray(value)) return value.map((ms) => new Date(Number(ms)).toISOString())
  const isInstant = INSTANT_COLUMN.test(column) && typeof value === 'string' && INSTANT.test(value)
  return isInstant ? new Date(value).toISOString() : value
}
