import { z } from 'zod'
import { QueuedForm } from './queue-row.ts'
import { Instant, SlugId, Uuid } from '../primitives.ts'
import { ConditionLeaf, PropertyLeaf } from '../workspace/condition.ts'
import { AnswerLeaf } from '../workspace/content-shape.ts'
import { FrequencyRule, Trigger } from '../workspace/organization-config.ts'
import { TraitValue } from '../records/traits.ts'

function gate<Name extends string, Compared extends z.ZodRawShape>(name: Name, compared: Compared) {
  return z.strictObject({ gate: z.literal(name), passed: z.boolean(), compared: z.strictObject(compared) })
}

/**
 * The result of a gate: whether the form passed, and the values that the gate compared (forms.md, Gates). Only a trigger
 * with `where` has the gate of that name.
 */
export const GateOutcome = z.discriminatedUnion('gate', [
  gate('where', {
    leaf: z
      .union([PropertyLeaf, AnswerLeaf])
      .nullable()
      .describe("The decisive condition on the event's properties, or on the answers; null: there is none."),
    negated: z.boolean().describe('The condition is under a `not`, so it must not hold.'),
    actual: TraitValue.optional().describe(
      'The value of the event or the answer, at most 20 values of 100 characters; absent: no comparable value.',
    ),
  }),
  gate('live', {
    enabled: z.boolean(),
    startsAt: Instant.nullable(),
    endsAt: Instant.nullable(),
    now: Instant.describe('The time when the record was received.'),
  }),
  gate('audience', {
    leaf: ConditionLeaf.nullable().describe('The decisive condition; null: there is none, the form is for all users.'),
    negated: z.boolean().describe('The condition is under a `not`, so it must not hold.'),
    actual: TraitValue.optional().describe(
      "The user's value or answer (at most 20 values of 100 characters), count or membership; absent: none.",
    ),
  }),
  gate('sample', {
    bucket: z.number().int().nullable().describe("The user's bucket, 0 to 9,999; null: the form has no sample."),
    threshold: z.number().describe('Buckets below this pass: percent times 100.'),
  }),
  gate('repeat', {
    rule: FrequencyRule,
    timesQueued: z.number().int().describe('Number of waiting or delivered rows.'),
    lastShownAt: Instant.nullable().describe('The time when this form was last shown.'),
    finishedAt: Instant.nullable()
      .optional()
      .describe('The time when the user last finished this form; null: never. Only of `{ until: answered }`.'),
  }),
  gate('cooldown', {
    cooldownSeconds: z.number().int().describe('0: this form has no cooldown, and nothing was looked up.'),
    lastShown: z
      .strictObject({
        formId: SlugId,
        at: Instant,
        openOffer: z.boolean().describe('The form is offered but not yet confirmed, which counts as shown.'),
      })
      .nullable()
      .describe('The form that was shown last, of all forms.'),
  }),
  gate('slot', {
    waiting: z.strictObject({ state: z.enum(['waiting', 'offered']), queuedAt: Instant }).nullable(),
  }),
])
export type GateOutcome = z.infer<typeof GateOutcome>
export type GateName = GateOutcome['gate']

/** The gates in the order in which they are checked. The first that fails gives the recorded reason. */
export const GATE_NAMES: readonly GateName[] = GateOutcome.options.map(({ shape }) => shape.gate.value)

/** The reasons that each gate can record when a form does not pass. */
const REASONS = {
  where: ['properties-differ', 'answers-differ'],
  live: ['not-live'],
  audience: ['not-in-audience'],
  sample: ['sampled-out'],
  repeat: ['repeat-exhausted', 'too-soon', 'answered'],
  cooldown: ['cooling-down'],
  slot: ['already-waiting'],
} as const satisfies { readonly [Name in GateName]: readonly string[] }

export type GateReasonOf<Name extends GateName> = (typeof REASONS)[Name][number]

export const GateReason = z.enum(Object.values(REASONS).flat())
export type GateReason = z.infer<typeof GateReason>

/** The last decision on a form for a user: queued, or the gate that stopped it. */
export const FormDecision = z.strictObject({
  formId: SlugId,
  decision: z.enum(['queued', 'not-queued']),
  reason: GateReason.optional().describe('The gate that failed; absent if the form was queued.'),
  at: Instant.describe('The time when the record was received.'),
  requestId: Uuid.describe('The evaluated record: X-Request-Id of its request.'),
  trigger: Trigger.optional().describe('The first trigger of the form that matched.'),
  catalogRevision: z.number().int().describe("The used revision of the organization's configuration."),
  gates: z.array(GateOutcome),
})
export type FormDecision = z.infer<typeof FormDecision>

/** Maximum number of queue rows in an answer. The oldest closed rows are omitted first; open rows never are. */
export const MAX_QUEUED_FORMS = 100

/** The evaluator's decisions and queue of one user. */
export const FormsReadModel = z.strictObject({
  forms: z.array(FormDecision).describe('By form id. A form is missing if none of its triggers ever matched.'),
  queue: z.array(QueuedForm).describe(`Open rows, then the latest closed ones; at most ${MAX_QUEUED_FORMS}.`),
})
export type FormsReadModel = z.infer<typeof FormsReadModel>
