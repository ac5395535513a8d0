import { z } from 'zod'
import { Duration, Environment, KeyKind, SlugId } from '../primitives.ts'
import { DEFAULT_ALLOWED_FIELDS, DEVICE_FIELDS, KNOWN_FIELDS } from '../device-info.ts'
import { mapLimits, NAME_CAPS } from './plan-limits.ts'
import { AnswerCondition, FormContentRef } from './content-shape.ts'
import { FormContent } from './form-content.ts'
import { Condition, COUNT_TOO_HIGH, MAX_COUNT, PropertyCondition } from './condition.ts'
import { MAX_WEBHOOKS, Webhook, WebhookInFile } from './webhook.ts'

const anyInstant = z.iso.datetime({ offset: true, error: 'must be an instant such as 2026-01-01T00:00:00Z' })

const DEVICE_FIELD_NAMES: ReadonlySet<string> = new Set(DEVICE_FIELDS)

/** The limits of an organization. Absent: unlimited. */
export const Plan = z.strictObject(mapLimits('name', () => z.number().int().min(0).optional()))
export type Plan = z.infer<typeof Plan>

export const RateLimit = z.strictObject({ perSecond: z.number().positive(), burst: z.number().int().positive() })
export type RateLimit = z.infer<typeof RateLimit>
export const DEFAULT_RATE_LIMIT: RateLimit = { perSecond: 100, burst: 200 }

/** Maximum size of a project's disabled trait slugs in bytes of JSON. Each claim of its trait slugs contains them. */
export const MAX_DISABLED_TRAIT_BYTES = 262_144

/** A trait or event that the workspace file declares. */
export const SlugSwitch = z.strictObject({ slug: z.string().min(1).max(100), enabled: z.boolean().default(true) })

export const Trigger = z.union(
  [
    z.strictObject({
      /** Name or slug of the event. */
      event: z.string().min(1),
      count: z.number().int().min(1).max(MAX_COUNT, COUNT_TOO_HIGH).optional(),
      within: Duration.optional(),
      since: z.literal('session').optional(),
      /** A condition on the event's properties. With `count`, `within` or `since`, only events that meet it are counted. */
      where: PropertyCondition.optional(),
    }),
    z.strictObject({ firstSeen: z.strictObject({ after: Duration }) }),
    z.strictObject({ visit: z.strictObject({}) }),
    z.strictObject({
      answered: z.strictObject({
        form: SlugId,
        /** A condition on the answers of the finished form. */
        where: AnswerCondition.optional(),
      }),
    }),
  ],
  'must be one of event, firstSeen, visit, answered',
)
export type Trigger = z.infer<typeof Trigger>

const Repeat = z.union(
  [z.enum(['once', 'always']), z.strictObject({ every: Duration }), z.strictObject({ times: z.number().int().min(1) })],
  'must be once, always, { every: 30d } or { times: 3 }, unless frequency is { until: answered }',
)

/** How often a user may get a form: `repeat`, by default `once`, or `until` in its place. */
export const Frequency = z
  .strictObject({
    repeat: Repeat.optional(),
    /** The form is queued again until the user has finished it. */
    until: z.literal('answered').optional(),
  })
  .refine(
    ({ repeat, until }) => repeat === undefined || until === undefined,
    'has repeat and until: remove one of them',
  )
export type Frequency = z.infer<typeof Frequency>

/** The frequency as a single rule. */
export const FrequencyRule = z.union([Repeat, z.strictObject({ until: z.literal('answered') })])
export type FrequencyRule = z.infer<typeof FrequencyRule>

export function frequencyRuleOf({ repeat = 'once', until }: Frequency): FrequencyRule {
  return until === undefined ? repeat : { until }
}

/** A form (forms.md, A form). */
export const Form = z.strictObject({
  id: SlugId,
  name: z.string().optional(),
  enabled: z.boolean().default(true),
  startsAt: anyInstant.optional(),
  endsAt: anyInstant.optional(),
  triggers: z.array(Trigger).default([]),
  audience: Condition.optional(),
  /** Percentage of users. The choice is fixed for each form and user. */
  sample: z.number().min(0).max(100).default(100),
  frequency: Frequency.default({ repeat: 'once' }),
  cooldown: z.strictObject({ ignore: z.boolean() }).default({ ignore: false }),
  /** The highest is shown first. */
  priority: z.number().int().default(0),
  /** Minimum time between the event and the visit that shows the form. */
  delay: Duration.default('0s'),
  /** Time after the event when the form expires. Absent: never. */
  expiresAfter: Duration.optional(),
  /** Its content, which is a record of its own. Absent: the customer draws the form. */
  content: FormContentRef.optional(),
})
export type Form = z.infer<typeof Form>

/** A form in the workspace file, which has the content itself. */
const FormInFile = z.strictObject({ ...Form.shape, content: FormContent.optional() })

export const Segment = z.strictObject({ id: SlugId, name: z.string().optional(), where: Condition })
export type Segment = z.infer<typeof Segment>

const keyCommon = {
  name: z.string().min(1),
  kind: KeyKind,
  environment: Environment,
  /** The key may erase users and read erasures (decisions.md, Erasure). Only of admin keys. Default: false. */
  mayErase: z.boolean().optional(),
}
/** A key in the catalog, which has only its SHA-256 in hex. */
export const KeyEntry = z.strictObject({
  ...keyCommon,
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 hex characters'),
})
export type KeyEntry = z.infer<typeof KeyEntry>
/** A key in the workspace file, by its hash or by the name of an environment variable, `$NAME`. */
const KeyInFile = z.union(
  [
    KeyEntry,
    z.strictObject({
      ...keyCommon,
      secret: z.string().regex(/^\$[A-Z_][A-Z0-9_]*$/, 'must name an environment variable, as $NAME'),
    }),
  ],
  'needs exactly one of secret and sha256',
)

export const SdkSettings = z.strictObject({
  pingAgainInSeconds: z.number().int().min(0).default(60),
  pingOnNextPageVisit: z.boolean().default(false),
  onPageDelaySeconds: z.number().min(0).default(0),
  /** The traits that a publishable key may change. Absent: all. Device fields are device facts, and never listed. */
  settableTraits: z
    .array(
      z
        .string()
        .min(1)
        .max(100)
        .refine(
          (slug) => !DEVICE_FIELD_NAMES.has(slug),
          'is a device field, which pages always send: see allowedFields',
        ),
    )
    .max(NAME_CAPS.trait.bound)
    .optional(),
})

/** Settings of Segment's API (decisions.md, Segment's API). Absent: the defaults. */
export const SegmentComSettings = z.strictObject({
  /** An event of an unknown user identifies the user first. */
  createUsers: z.boolean().default(true),
})

const projectCommon = {
  id: SlugId,
  /** An SDK key may add new trait slugs (event names) to the project. */
  clientCreatedTraits: z.boolean().default(true),
  clientCreatedEvents: z.boolean().default(true),
  /** The known device and personal fields that the project keeps. */
  allowedFields: z.array(z.enum(KNOWN_FIELDS)).default([...DEFAULT_ALLOWED_FIELDS]),
  requireUserSignature: z.boolean().default(false),
  formCooldown: Duration.default('0s'),
  sdk: SdkSettings.prefault({}),
  segment: SegmentComSettings.optional(),
  rateLimits: z
    .strictObject({ admin: RateLimit.default(DEFAULT_RATE_LIMIT), sdk: RateLimit.default(DEFAULT_RATE_LIMIT) })
    .prefault({}),
  traits: z.array(SlugSwitch).default([]),
  events: z.array(SlugSwitch).default([]),
  segments: z.array(Segment).default([]),
  forms: z.array(Form).default([]),
}

/** A project in the catalog. `signingSecret` is sealed with the newest key of NEXTVISIT_SECRET_KEY (`packages/sealing`). */
export const ProjectConfig = z.strictObject({
  ...projectCommon,
  signingSecret: z.string().optional(),
  keys: z.array(KeyEntry).default([]),
  webhooks: z.array(Webhook).max(MAX_WEBHOOKS).default([]),
})
export type ProjectConfig = z.infer<typeof ProjectConfig>

export const OrganizationConfig = z.strictObject({
  id: SlugId,
  plan: Plan.prefault({}),
  projects: z.array(ProjectConfig).default([]),
})
export type OrganizationConfig = z.infer<typeof OrganizationConfig>

/** A project in the workspace file, which names environment variables for secrets. */
const ProjectInFile = z.strictObject({
  ...projectCommon,
  signingSecret: z
    .string()
    .regex(/^\$[A-Z_][A-Z0-9_]*$/, 'must name an environment variable, as $NAME')
    .optional(),
  keys: z.array(KeyInFile).default([]),
  forms: z.array(FormInFile).default([]),
  webhooks: z.array(WebhookInFile).max(MAX_WEBHOOKS).default([]),
})
const OrganizationInFile = z.strictObject({
  id: SlugId,
  plan: Plan.prefault({}),
  projects: z.array(ProjectInFile).default([]),
})
/** The workspace file (decisions.md, The workspace file). References, uniqueness and cycles are checked elsewhere. */
export const WorkspaceFile = z.strictObject({ organizations: z.array(OrganizationInFile) })
export type WorkspaceFile = z.infer<typeof WorkspaceFile>
