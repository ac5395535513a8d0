import { Instant, SlugId, Uuid } from '@nextvisit/contracts'
import { z } from 'zod'
import { MAX_DEPTH } from '../api-bounds.ts'
import { type ApiTable, defineRoute, Nothing } from '../http/define-route.ts'

/** Replaces a value that the viewer has not asked for. */
export const MASK = '•••'

const place = { organization: SlugId, project: SlugId }

export const ProjectsAnswer = z.strictObject({ projects: z.array(z.strictObject(place)) })
export type ProjectsAnswer = z.infer<typeof ProjectsAnswer>

export const UserPath = z.strictObject({ ...place, userId: Uuid })
export type UserPath = z.infer<typeof UserPath>

/** Search by the exact userName in a project, or by the id of a request in any project, this one's refusals first. */
export const FindUser = z.union([
  z.strictObject({ ...place, userName: z.string().min(1).max(255) }),
  z.strictObject({ ...place, requestId: Uuid }),
])
export type FindUser = z.infer<typeof FindUser>

const named = z.strictObject({ name: z.string(), value: z.string() })

/** The text is ours, so pages show instants in it in the reader's time zone. Values of users are shown unchanged. */
const withInstants = { withInstants: z.boolean() }

const GateLine = z.strictObject({
  gate: z.string(),
  outcome: z.enum(['passed', 'failed', 'not-looked-at']),
  /** The values that the gate compared. */
  words: z.string(),
  ...withInstants,
})

export const FormLine = z.strictObject({
  formId: SlugId,
  name: z.string().nullable(),
  inWorkspace: z.boolean(),
  /** `never`: no trigger matched yet. */
  decision: z.enum(['queued', 'not-queued', 'never']),
  /** Reason for the decision and state of the form, in words. Instants in it are ours. */
  summary: z.string(),
  at: Instant.nullable(),
  requestId: Uuid.nullable(),
  trigger: z.string().nullable(),
  revision: z.number().int().nullable(),
  gates: z.array(GateLine),
  /**
   * Triggers of a form that was never evaluated. `soFar`: how often the counted event has happened; null: unknown.
   * `count`: how often it must happen.
   */
  waitsFor: z.array(
    z.strictObject({ trigger: z.string(), soFar: z.number().int().nullable(), count: z.number().int() }),
  ),
})
export type FormLine = z.infer<typeof FormLine>

const QueueLine = z.strictObject({
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
  /** Personal data is replaced by {@link MASK}. */
  isMasked: z.boolean(),
  /** null: the user was never identified. */
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

/** Separate from the profile: it comes from another service, which can be down alone. */
export const UserFormsAnswer = z.strictObject({ forms: z.array(FormLine), queue: z.array(QueueLine) })
export type UserFormsAnswer = z.infer<typeof UserFormsAnswer>

const TimelineQuery = z.strictObject({
  ...UserPath.shape,
  /** Each step reads the same number of records further back. */
  depth: z.coerce.number<number>().int().min(1).max(MAX_DEPTH).default(1),
  /** The request that the reader looks for: its entry lists the decisions that were replaced. */
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
  /** The request that caused the entry. */
  requestId: Uuid.nullable(),
})
export type TimelineEntry = z.infer<typeof TimelineEntry>

export const TimelineAnswer = z.strictObject({
  isMasked: z.boolean(),
  /** Newest first. */
  entries: z.array(TimelineEntry),
  /** Sentences about entries that are missing because a service did not answer. */
  gaps: z.array(z.string()),
  reading: z.strictObject({
    partition: z.number().int(),
    records: z.number().int(),
    /** `beginning`: everything was read. `records`, `time`: the bound was reached. */
    stopped: z.enum(['beginning', 'records', 'time']),
    /** Start of the part of the log that was read completely; null: all of it was. */
    since: Instant.nullable(),
  }),
})
export type TimelineAnswer = z.infer<typeof TimelineAnswer>

export const usersApi = {
  listProjects: defineRoute({ role: 'viewer', input: Nothing, answer: ProjectsAnswer }),
  findUser: defineRoute({ role: 'viewer', input: FindUser, answer: UserPath }),
  readUser: defineRoute({ role: 'viewer', input: UserPath, answer: UserAnswer }),
  readUserForms: defineRoute({ role: 'viewer', input: UserPath, answer: UserFormsAnswer }),
  readTimeline: defineRoute({ role: 'viewer', input: TimelineQuery, answer: TimelineAnswer }),
  revealUser: defineRoute({
    role: 'viewer',
    input: UserPath,
    answer: Nothing,
    logged: ({ organization, project, userId }) => ({ organization, project, userId }),
  }),
} satisfies ApiTable
