import { Instant } from '@nextvisit/contracts'
import { z } from 'zod'
import { Nothing, Role } from '../http/define-route.ts'
import { MAX_NAME_CHARACTERS } from '../shared-with-pages.ts'

const SignIn = z.strictObject({
  token: z.string().min(1).max(500),
  /** Logged with each change, and stored with decisions. Default: the role. */
  name: z
    .string()
    .trim()
    .max(MAX_NAME_CHARACTERS)
    .regex(/^\P{C}*$/u, 'must not contain control characters')
    .default(''),
})

const SessionAnswer = z.strictObject({
  role: Role,
  name: z.string(),
  expiresAt: Instant,
  /** The demo is loaded, so *Try it* has keys. */
  canTry: z.boolean(),
})
export type SessionAnswer = z.infer<typeof SessionAnswer>

/** The only routes that need no session. */
export const sessionApi = {
  /** null: signed out. */
  readSession: { input: Nothing, answer: SessionAnswer.nullable() },
  signIn: { input: SignIn, answer: SessionAnswer },
  signOut: { input: Nothing, answer: Nothing },
}
