import { GateReason, Instant, projectFields, QueuedForm, SlugId, Uuid } from '@nextvisit/contracts'
import { z } from 'zod'
import { defineRoute, Nothing } from '../http/define-route.ts'
import { FileAnswer } from '../http/file-answer.ts'
import { MAX_DEPTH, MAX_USER_NAME_CHARACTERS } from '../shared-with-pages.ts'

const UserPath = z.strictObject({ ...projectFields, userId: Uuid })
export type UserPath = z.infer<typeof UserPath>

const named = z.strictObject({ name: z.string(), value: z.string() })

/** The text is ours, so pages show instants in it in the reader's time zone. Values of users are shown unchanged. */
const withInstants = { withInstants: z.boolean() }

const GateLine = z.strictObject({
  gate: z.string(),
  outcome: z.enum(['passed', 'failed', 'not-checked']),
  /** The values that the gate compared. */
  words: z.string(),
  ...withInstants,
})

/** A form of the user, as `nextvisit why` explains it (`FormExplanation`). All instants in sentences are ours. */
const FormLine = z.strictObject({
  formId: SlugId,
  name: z.string().nullable(),
  presence: z.enum(['workspace', 'removed', 'not-understood', 'unknown']),
  /** `never`: no trigger matched yet. */
  state: z.enum([...QueuedForm.shape.state.options, 'queued', 'not-queued', 'never']),
  /** The state in words. */
  summary: z.string(),
  decision: z
    .strictObject({
      outcome: z.enum(['queued', 'not-queued']),
      reason: GateReason.nullable(),
      words: z.string(),
      at: Instant,
      requestId: Uuid,
      trigger: z.string().nullable(),
      revision: z.number().int(),
      gates: z.array(GateLine),
    })
    .nullable(),
  /** Triggers of a form that was never evaluated. `soFar`: how often the counted event has happened; null: unknown. */
  waitsFor: z.array(
    z.strictObject({ trigger: z.string(), soFar: z.number().int().nullable(), count: z.number().int() }),
  ),
  /** Later events that counted, but triggered nothing. */
  missed: z.array(z.string()),
})
export type FormLine = z.infer<typeof FormLine>

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
    'answer',
    'segment',
    'expired',
    'cancelled',
    'refused',
    'erased',
  ]),
  title: z.string(),
  /** Members of the fact. Values may be masked. `cutFromBytes`: size of a value that is not whole here. */
  details: z.array(named.extend({ ...withInstants, cutFromBytes: z.number().int().optional() })),
  /** An erasure covers the fact: its content is gone. */
  isErased: z.literal(true).optional(),
  /** Number of further members; absent: none. */
  moreDetails: z.number().int().optional(),
  /** The request that caused the entry. */
  requestId: Uuid.nullable(),
})
export type TimelineEntry = z.infer<typeof TimelineEntry>

export const usersApi = {
  listProjects: defineRoute({
    role: 'viewer',
    input: Nothing,
    answer: z.strictObject({ projects: z.array(z.strictObject(projectFields)) }),
  }),
  /** Searches by the exact userName in a project, or by the id of a request in any project, this one's refusals first. */
  findUser: defineRoute({
    role: 'viewer',
    input: z.union([
      z.strictObject({ ...projectFields, userName: z.string().min(1).max(MAX_USER_NAME_CHARACTERS) }),
      z.strictObject({ ...projectFields, requestId: Uuid }),
    ]),
    answer: UserPath,
  }),
  readUser: defineRoute({
    role: 'viewer',
    input: UserPath,
    answer: UserPath.extend({
      /** Personal data is masked. */
      isMasked: z.boolean(),
      /** The last erasure of the user; null: none. With a profile: the user has returned since. */
      erasureId: Uuid.nullable(),
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
          events: z.array(
            z.strictObject({ slug: z.string(), count: z.number().int(), firstAt: Instant, lastAt: Instant }),
          ),
          /** The latest records may be missing, because the user projector lags. */
          isStale: z.boolean(),
        })
        .nullable(),
    }),
  }),
  /** Separate from the profile: it comes from another service, which can be down alone. */
  readUserForms: defineRoute({
    role: 'viewer',
    input: UserPath,
    answer: z.strictObject({ forms: z.array(FormLine), queue: z.array(QueuedForm) }),
  }),
  readTimeline: defineRoute({
    role: 'viewer',
    input: UserPath.extend({
      /** Each step reads the same number of records further back. */
      depth: z.coerce.number<number>().int().min(1).max(MAX_DEPTH).default(1),
      /** The request that the reader looks for: its entry lists the decisions that were replaced. */
      request: Uuid.optional(),
    }),
    answer: z.strictObject({
      isMasked: z.boolean(),
      /** Newest first. */
      entries: z.array(TimelineEntry),
      /** Sentences about entries that are missing because a service did not answer. */
      gaps: z.array(z.string()),
      reading: z.strictObject({
        partition: z.number().int(),
        records: z.number().int(),
        /** `beginning`: everything was read. `records`, `time`, `size`: the bound was reached. */
        stopped: z.enum(['beginning', 'records', 'time', 'size']),
        /** Start of the part of the log that the entries cover completely; null: all of it. */
        since: Instant.nullable(),
      }),
    }),
  }),
  revealUser: defineRoute({
    role: 'viewer',
    input: UserPath,
    answer: Nothing,
    logged: ({ organization, project, userId }) => ({ organization, project, userId }),
  }),
  /** Everything known about the person, as `nextvisit users export` writes it. */
  exportUser: defineRoute({
    role: 'operator',
    input: UserPath,
    answer: z.instanceof(FileAnswer),
    logged: ({ organization, project, userId }) => ({ organization, project, userId }),
  }),
}
