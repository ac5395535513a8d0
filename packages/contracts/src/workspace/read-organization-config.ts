import { z } from 'zod'
import { isDeeperThan, isObject, MAX_LEVELS } from '../nesting.ts'
import { parseWithin } from '../parse-within.ts'
import { SlugId } from '../primitives.ts'
import { firstCharacters } from '../text-length.ts'
import { DEFAULT_ALLOWED_FIELDS, KNOWN_FIELDS } from '../device-info.ts'
import { type Condition, NEVER, segmentsNamedIn } from './condition.ts'
import {
  DEFAULT_RATE_LIMIT,
  Form,
  KeyEntry,
  OrganizationConfig,
  Plan,
  ProjectConfig,
  RateLimit,
  SdkSettings,
  Segment,
  SegmentComSettings,
  SlugSwitch,
} from './organization-config.ts'
import { Webhook } from './webhook.ts'

/** A form, a form's content, a segment, key or webhook that this version does not understand, because a later version wrote it. */
export interface NotUnderstood {
  readonly project: string
  readonly kind: 'form' | 'segment' | 'key' | 'content' | 'webhook'
  /** The id of the form (also of a content), segment or webhook, or the name of the key. `?`: it cannot be read. */
  readonly id: string
  readonly reason: string
}

type ConfigReading =
  | {
      readonly outcome: 'read'
      readonly config: OrganizationConfig
      readonly notUnderstood: readonly NotUnderstood[]
    }
  | { readonly outcome: 'unreadable'; readonly reason: string }

/** A longer id or name is none of this version. It is cut, because problems show it. */
const MAX_ID_CHARACTERS = 200

const unknowns = z.array(z.unknown()).default([])
const ReadRateLimit = z.object(RateLimit.shape).default(DEFAULT_RATE_LIMIT)
const ReadSwitches = z.array(z.object(SlugSwitch.shape)).default([])
const isKnownField = (field: string): field is (typeof KNOWN_FIELDS)[number] =>
  (KNOWN_FIELDS as readonly string[]).includes(field)

/** Reads a `ProjectConfig` and drops unknown members. Forms, segments, keys and webhooks are read one by one. */
const ReadProject = z.object({
  ...ProjectConfig.shape,
  allowedFields: z
    .array(z.string())
    .default([...DEFAULT_ALLOWED_FIELDS])
    .transform((fields) => fields.filter(isKnownField)),
  sdk: z.object(SdkSettings.shape).prefault({}),
  segment: z.object(SegmentComSettings.shape).optional(),
  rateLimits: z.object({ admin: ReadRateLimit, sdk: ReadRateLimit }).prefault({}),
  traits: ReadSwitches,
  events: ReadSwitches,
  segments: unknowns,
  forms: unknowns,
  keys: unknowns,
  webhooks: unknowns,
})
type ReadProject = z.infer<typeof ReadProject>

const ReadOrganization = z.object({
  id: SlugId,
  plan: z.object(Plan.shape).prefault({}),
  projects: z.array(ReadProject).default([]),
})

/**
 * Reads the configuration in a record of the catalog, as far as this version understands it (decision 0012). Unknown
 * members of settings are ignored. In a form, segment, key or webhook such a member could change the meaning, so the whole
 * entry is not understood: the form is never queued, the segment has no members, the key is refused, the webhook waits.
 * `unreadable`: a setting has another shape. Never throws for data, and takes time in proportion to it.
 */
export function readOrganizationConfig(json: unknown): ConfigReading {
  const parsed = parseWithin(ReadOrganization, json)
  if (!parsed.success) return { outcome: 'unreadable', reason: reasonOf(parsed.issues) }
  const projects = parsed.data.projects.map(readProject)
  return {
    outcome: 'read',
    config: { ...parsed.data, projects: projects.map(({ config }) => config) },
    notUnderstood: projects.flatMap(({ notUnderstood }) => notUnderstood),
  }
}

/** Returns the understood keys of an unreadable configuration, by project. */
export function readKeys(json: unknown): ReadonlyMap<string, readonly KeyEntry[]> {
  const projects = memberOf(json, 'projects')
  if (!Array.isArray(projects)) return new Map()
  return new Map(
    projects.flatMap((project): [string, KeyEntry[]][] => {
      const [id, keys] = [memberOf(project, 'id'), memberOf(project, 'keys')]
      if (typeof id !== 'string' || !Array.isArray(keys)) return []
      return [[id, keys.flatMap((key) => readEntry(KeyEntry, key, 'name').value ?? [])]]
    }),
  )
}

function readProject(project: ReadProject): {
  readonly config: ProjectConfig
  readonly notUnderstood: readonly NotUnderstood[]
} {
  const keys = project.keys.map((raw) => readEntry(KeyEntry, raw, 'name'))
  const webhooks = project.webhooks.map((raw) => readEntry(Webhook, raw, 'id'))
  const segments = withoutUnknownReferences(project.segments.map((raw) => readEntry(Segment, raw, 'id')))
  const known = new Set(segments.flatMap(({ id, value }) => (value ? id : [])))
  const forms = project.forms
    .map((raw) => readEntry(Form, raw, 'id'))
    .map((form) => withoutUnknownSegments(form, form.value?.audience, known))
  const reasonsOf = (kind: NotUnderstood['kind'], entries: readonly Entry<unknown>[]): readonly NotUnderstood[] =>
    entries.flatMap(({ id, reason }) => (reason === undefined ? [] : { project: project.id, kind, id, reason }))
  return {
    config: {
      ...project,
      segments: segments.flatMap(({ value, id, raw }) => value ?? nobodyIn(id, raw)),
      forms: forms.flatMap(({ value, id, raw }) => value ?? neverQueued(id, raw)),
      keys: keys.flatMap(({ value }) => value ?? []),
      webhooks: webhooks.flatMap(({ value }) => value ?? []),
    },
    notUnderstood: [
      ...reasonsOf('segment', segments),
      ...reasonsOf('form', forms),
      ...reasonsOf('key', keys),
      ...reasonsOf('webhook', webhooks),
    ],
  }
}

/** A form, segment, key or webhook, with either a value or a reason. */
interface Entry<Value> {
  readonly id: string
  readonly raw: unknown
  readonly value?: Value | undefined
  readonly reason?: string | undefined
}

function readEntry<Value>(schema: z.ZodType<Value>, raw: unknown, idMember: string): Entry<Value> {
  const name = memberOf(raw, idMember)
  const id = typeof name === 'string' ? firstCharacters(name, MAX_ID_CHARACTERS) : '?'
  return { id, raw, ...readPart(schema, raw) }
}

/** Reads a part of the catalog, which a later version may have written. Returns its value, or why this version does not understand it. */
export function readPart<Value>(
  schema: z.ZodType<Value>,
  raw: unknown,
): { readonly value: Value; readonly reason?: undefined } | { readonly value?: undefined; readonly reason: string } {
  // The schema recurses over the levels and would overflow the stack.
  if (isDeeperThan(raw, MAX_LEVELS)) return { reason: `is nested deeper than ${MAX_LEVELS} levels` }
  const parsed = parseWithin(schema, raw)
  return parsed.success ? { value: parsed.data } : { reason: reasonOf(parsed.issues) }
}

/** Marks segments that name a segment which is not understood, directly or through others: their meaning would differ. */
function withoutUnknownReferences(segments: readonly Entry<Segment>[]): readonly Entry<Segment>[] {
  const names = segments.map(({ value }) => new Set(value && segmentsNamedIn(value.where)))
  const namedBy = new Map<string, number[]>()
  const understood = new Map<string, number>() // segments of each id: a record may repeat one
  for (const [index, { id, value }] of segments.entries()) {
    if (value) understood.set(id, (understood.get(id) ?? 0) + 1)
    for (const name of names[index] ?? []) (namedBy.get(name) ?? namedBy.set(name, []).get(name))?.push(index)
  }
  const settled = [...segments]
  const unknown = [...namedBy.keys()].filter((id) => !understood.has(id))
  for (const name of unknown) {
    for (const index of namedBy.get(name) ?? []) {
      const segment = settled[index]
      if (!segment?.value) continue
      const { id, raw } = segment
      settled[index] = namesUnknown(id, raw, name)
      const left = (understood.get(id) ?? 0) - 1
      understood.set(id, left)
      if (left === 0) unknown.push(id) // the loop reaches it
    }
  }
  return settled
}

function withoutUnknownSegments<Value>(
  entry: Entry<Value>,
  condition: Condition | undefined,
  known: ReadonlySet<string>,
): Entry<Value> {
  const unknown = condition && segmentsNamedIn(condition).find((id) => !known.has(id))
  return unknown === undefined ? entry : namesUnknown(entry.id, entry.raw, unknown)
}

function namesUnknown(id: string, raw: unknown, segment: string): Entry<never> {
  return { id, raw, reason: `names segment ${segment}, which is not understood` }
}

/** Returns a segment without members. If its id cannot be read, nothing can name it, and it is dropped. */
function nobodyIn(id: string, raw: unknown): Segment | [] {
  const name = memberOf(raw, 'name')
  return Segment.safeParse({ id, where: NEVER, ...(typeof name === 'string' && { name }) }).data ?? []
}

/**
 * Returns a form that no record queues and no visit shows. It stays enabled unless it is explicitly disabled, so that its
 * waiting rows are not cancelled.
 */
function neverQueued(id: string, raw: unknown): Form | [] {
  return Form.safeParse({ id, enabled: memberOf(raw, 'enabled') !== false, audience: NEVER }).data ?? []
}

function reasonOf([issue]: readonly z.core.$ZodIssue[]): string {
  return `${issue?.path.join('.') || 'value'}: ${issue?.message ?? 'does not fit'}`
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? (value as Readonly<Record<string, unknown>>)[name] : undefined
}
