import { z } from 'zod'
import { Uuid } from '../primitives.ts'
import { BODY_LIMITS } from '../public/body-limits.ts'
import { Definition } from '../public/reads.ts'
import { NAME_CAPS, type NameKind } from '../workspace/plan-limits.ts'
import { projectFields, unpublishedFields } from './call-fields.ts'
import { type CallTable, defineBatchedCall, defineCall, Done } from './define-call.ts'

/** Maximum number of names in one call, and in one question: an identify has at most as many operations. */
export const MAX_CLAIMED_NAMES = BODY_LIMITS.traitOperations

const nameKind = z.enum(Object.keys(NAME_CAPS) as NameKind[])

const names = {
  kind: nameKind,
  ...projectFields,
  /** New names are admitted in this order. */
  slugs: z.array(z.string()).min(1).max(MAX_CLAIMED_NAMES),
}

/** A request to use names that may be new, for a record that is about to be published. */
const Claim = z.object({
  ...unpublishedFields,
  ...names,
  /** Cap on the project's unique names of this kind. */
  limit: z.number().int(),
  /** Slugs marked disabled do not count toward the cap on traits. */
  disabled: z.array(z.string()).default([]),
  /** Checks for room, and claims nothing. */
  dryRun: z.literal(true).optional(),
})
export type Claim = z.infer<typeof Claim>

/**
 * - `registered`: a folded record carries the name.
 * - `claimed`: another request is registering it.
 * - `new`: this request registers it (`newEvent: true`).
 * - `no-room`: the cap is reached.
 * - `room`: the answer to a dry run that found room.
 */
export const ClaimVerdict = z.enum(['registered', 'claimed', 'new', 'no-room', 'room'])
export type ClaimVerdict = z.infer<typeof ClaimVerdict>

/** A claim to give back. */
const ReleasedClaim = z.object({ recordId: Uuid, ...names })
export type ReleasedClaim = z.infer<typeof ReleasedClaim>

/** Asks for a page of definitions. */
const DefinitionsQuery = z.object({
  kind: nameKind,
  ...projectFields,
  limit: z.number().int().min(1).max(1_000),
  /** The last slug of the previous page. */
  after: z.string().optional(),
  /** Only slugs that begin with it. */
  prefix: z.string().optional(),
})
export type DefinitionsQuery = z.infer<typeof DefinitionsQuery>
const DefinitionsAnswer = z.object({ definitions: z.array(Definition), next: z.string().nullable() })
export type DefinitionsAnswer = z.infer<typeof DefinitionsAnswer>

export const traitRegistryCalls = {
  /** Claims names that the gateway does not know. Answers one verdict for each slug, in order. */
  claim: defineBatchedCall({ path: '/internal/claims', question: Claim, answer: z.array(ClaimVerdict) }),
  /** Gives back the names of records that are known not to be in the log. */
  releaseClaims: defineBatchedCall({ path: '/internal/claims/release', question: ReleasedClaim, answer: Done }),
  readDefinitions: defineCall({
    path: '/internal/definitions/read',
    question: DefinitionsQuery,
    answer: DefinitionsAnswer,
  }),
} satisfies CallTable
