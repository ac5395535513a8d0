import { Instant, SlugId, Uuid } from '@nextvisit/contracts'
import { z } from 'zod'
import { MAX_DEPTH } from './max-depth.ts'

/** In place of a value that the viewer has not asked for. */
export const MASK = '•••'

const place = { organization: SlugId, project: SlugId }

export const UserPath = z.strictObject({ ...place, userId: Uuid })
export type UserPath = z.infer<typeof UserPath>

/** By the exact userName in a project, or by a request's id in any; this project's refusals are looked through first. */
export const FindUser = z.union([
  z.strictObject({ ...place, userName: z.string().min(1).max(255) }),
  z.strictObject({ ...place, requestId: Uuid }),
])
export type FindUser = z.infer<typeof FindUser>

export const FoundUser = UserPath

const named = z.strictObject({ name: z.string(), value: z.string() })

/** Whether a text is ours, so that the instants in it stand in the reader's zone. What a user said is shown as it is. */
const withInstants = { withInstants: z.boolean() }

export const GateLine = z.strictObject({
  gate: z.string(),
  outcome: z.enum(['passed', 'failed', 'not-looked-at']),
  /** What was compared. */
  words: z.string(),
  ...withInstants,
})

export const FormLine = z.strictObject({
  formId: SlugId,
  name: z.string().nullable(),
  inWorkspace: z.boolean(),
  /** `never`: none of its triggers matched yet. */
  decision: z.enum(['queued', 'not-queued', 'never']),
  /** In words: why, or why not, and what became of it. Instants in it are ours. */
  summary: z.string(),
  at: Instant.nullable(),
  requestId: Uuid.nullable(),
  trigger: z.string().nullable(),
  revision: z.number().int().nullable(),
  gates: z.array(GateLine),
  /** Of what was never evaluated: its triggers, with how often each has happened so far, and how often it must. null: not known. */
  waitsFor: z.array(
    z.strictObject({ trigger: z.string(), soFar: z.number().int().nullable(), count: z.number().int() }),
  ),
})
export type FormLine = z.infer<typeof FormLine>

export const QueueLine = z.strictObject({
  queuedId: Uuid,
  formId: SlugId,
  state: z.enum(['waiting', 'offered', 'delivered', 'expired', 'cancelled']),
  queuedAt: Instant,
  showFrom: Instant,
  expiresAt: Instant.nullable(),
  deliveredAt: Instant.nullable(),
})

export const UserAnswer = z.strictObject({
  ...UserPath.shape,
  /** Whether personal data stands as {@link MASK}. */
  isMasked: z.boolean(),
  /** null: nobody has identified this user. */
  profile: z
    .strictObject({
      userName: z.string(),
      country: z.string().nullable(),
      firstSeenAt: Instant,
      lastSeenAt: Instant,
      traits: z.array(named),
      device: z.array(named),
      segments: z.array(z.string()),
      events: z.array(z.strictObject({ slug: z.string(), count: z.number().int(), firstAt: Instant, lastAt: Instant })),
    })
    .nullable(),
})
export type UserAnswer = z.infer<typeof UserAnswer>

/** Apart from the profile: another service knows it, which may be silent alone. */
export const UserFormsAnswer = z.strictObject({ forms: z.array(FormLine), queue: z.array(QueueLine) })
export type UserFormsAnswer = z.infer<typeof UserFormsAnswer>

export const TimelineQuery = z.strictObject({
  ...UserPath.shape,
  /** How far back: each step reads as many records again. */
  depth: z.coerce.number().int().min(1).max(MAX_DEPTH).default(1),
  /** The request that somebody looks for: its entry says which decisions were replaced. */
  request: Uuid.optional(),
})

export const TimelineEntry = z.strictObject({
  id: z.string(),
  at: Instant,
  kind: z.enum([
    'identify',
    'event',
    'visit',
    'decision',
    'queued',
    'offered',
    'delivered',
    'expired',
    'cancelled',
    'refused',
  ]),
  title: z.string(),
  /** Members of the fact. Values may be masked. */
  details: z.array(named.extend(withInstants)),
  /** The request that the entry comes from. */
  requestId: Uuid.nullable(),
})
export type TimelineEntry = z.infer<typeof TimelineEntry>

export const TimelineAnswer = z.strictObject({
  isMasked: z.boolean(),
  /** The newest first. */
  entries: z.array(TimelineEntry),
  /** What is missing, as somebody did not answer: sentences. */
  gaps: z.array(z.string()),
  reading: z.strictObject({
    partition: z.number().int(),
    records: z.number().int(),
    /** `beginning`: everything was read. `records`, `time`: the bound was reached. */
    stopped: z.enum(['beginning', 'records', 'time']),
    /** Back to here everything was read; null: nothing was. */
    since: Instant.nullable(),
  }),
})
export type TimelineAnswer = z.infer<typeof TimelineAnswer>
