import { z } from 'zod'
import { Uuid } from '../primitives.ts'
import { ErasureAnswer, ErasuresPage, ErasureSummary } from '../public/erasures.ts'
import { projectFields } from './call-fields.ts'
import { type CallTable, defineCall } from './define-call.ts'

/** Maximum number of erasures in one answer: about 1 MB. */
export const MAX_ERASURES_ASKED = 1_000

const ErasureQuery = z.object({ ...projectFields, erasureId: Uuid })
export type ErasureQuery = z.infer<typeof ErasureQuery>

const ErasuresQuery = z.object({
  ...projectFields,
  limit: z.number().int().min(1).max(MAX_ERASURES_ASKED),
  /** The erasureId of the last erasure of the previous page. */
  after: Uuid.optional(),
})
export type ErasuresQuery = z.infer<typeof ErasuresQuery>

/** An erasure of any project that is not complete. */
const UnfinishedErasure = ErasureSummary.extend(projectFields)
export type UnfinishedErasure = z.infer<typeof UnfinishedErasure>

/** Keys that exist once in an installation. */
const InstallationKeysAnswer = z.object({
  /** The Ed25519 key that verifies receipts: 32 bytes in base64url. */
  receiptKey: z.string(),
  /** The key of the hashes of suppressed users, sealed by NEXTVISIT_SECRET_KEY: see `createSuppressionHash`. */
  suppressionKey: z.string(),
})
export type InstallationKeysAnswer = z.infer<typeof InstallationKeysAnswer>

export const userEraserCalls = {
  /** Not found: no erasure of the project has this id. Behind: its request may not be folded yet. */
  readErasure: defineCall({ path: '/internal/erasures/read', question: ErasureQuery, answer: ErasureAnswer }),
  /** Reads a page of the erasures of a project, newest first. */
  listErasures: defineCall({
    path: '/internal/erasures/list',
    question: ErasuresQuery,
    answer: ErasuresPage,
  }),
  /** Reads the erasures of all projects that are not complete, oldest first: at most {@link MAX_ERASURES_ASKED}. */
  readUnfinished: defineCall({
    path: '/internal/erasures/unfinished/read',
    question: z.object({}),
    answer: z.object({ erasures: z.array(UnfinishedErasure) }),
  }),
  /** Behind: the eraser has not created the keys yet. They never change afterwards, so callers cache them. */
  readInstallationKeys: defineCall({
    path: '/internal/installation-keys/read',
    question: z.object({}),
    answer: InstallationKeysAnswer,
  }),
} satisfies CallTable
