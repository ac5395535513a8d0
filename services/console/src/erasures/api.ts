import { ErasureAnswer, ErasuresPage, projectFields, SuppressionsPage, Uuid } from '@nextvisit/contracts'
import { userIdOf } from '@nextvisit/domain'
import { z } from 'zod'
import { defineRoute, Nothing } from '../http/define-route.ts'
import { MAX_USER_NAME_CHARACTERS } from '../shared-with-pages.ts'

const userName = z.string().min(1).max(MAX_USER_NAME_CHARACTERS)
const ErasurePath = z.strictObject({ ...projectFields, erasureId: Uuid })
export type ErasurePath = z.infer<typeof ErasurePath>

export const erasuresApi = {
  /** Erases a person. `userName`: the operator types it, so that no other person is erased by mistake. */
  eraseUser: defineRoute({
    role: 'operator',
    input: z.strictObject({ ...projectFields, userId: Uuid, userName, suppress: z.boolean() }),
    answer: z.strictObject({ erasureId: Uuid }),
    logged: ({ organization, project, userId, suppress }) => ({
      organization,
      project,
      userId,
      suppress: String(suppress),
    }),
    change: ({ organization, project, userId, suppress }, answer) => ({
      kind: 'users.erase',
      organization,
      project,
      details: { userId, users: 1, suppress, ...answer },
    }),
  }),
  /** Lists a page of the erasures of a project, newest first. */
  listErasures: defineRoute({
    role: 'viewer',
    input: z.strictObject({ ...projectFields, after: Uuid.optional() }),
    answer: ErasuresPage,
  }),
  readErasure: defineRoute({ role: 'viewer', input: ErasurePath, answer: ErasureAnswer }),
  listSuppressions: defineRoute({
    role: 'viewer',
    input: z.strictObject({ ...projectFields, after: z.string().max(40).optional() }),
    answer: SuppressionsPage,
  }),
  /** Lets a suppressed person return. The list has hashes only, so the operator names the person. */
  liftSuppression: defineRoute({
    role: 'operator',
    input: z.strictObject({ ...projectFields, userName }),
    answer: Nothing,
    logged: ({ organization, project }) => ({ organization, project }),
    change: ({ organization, project, userName: lifted }) => ({
      kind: 'suppression.lift',
      organization,
      project,
      details: { userId: userIdOf(organization, project, lifted.toWellFormed()) },
    }),
  }),
}
