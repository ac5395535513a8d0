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
  /** Name of the identity provider that vouches for the name; null: the person typed it. */
  verifiedBy: z.string().nullable(),
  expiresAt: Instant,
  /** The demo is loaded, so *Try it* has keys. */
  canTry: z.boolean(),
})
export type SessionAnswer = z.infer<typeof SessionAnswer>

/** The ways to sign in. */
const SignInAnswer = z.strictObject({
  hasTokens: z.boolean(),
  provider: z.strictObject({ name: z.string(), isAvailable: z.boolean() }).nullable(),
  /** The claim that gives roles, and its values, for people who have none. */
  roles: z.strictObject({ claim: z.string(), operators: z.array(z.string()), viewers: z.array(z.string()) }).nullable(),
})
export type SignInAnswer = z.infer<typeof SignInAnswer>

/** The only routes that need no session. */
export const sessionApi = {
  /** null: signed out. */
  readSession: { input: Nothing, answer: SessionAnswer.nullable() },
  signIn: { input: SignIn, answer: SessionAnswer },
  readSignIn: { input: Nothing, answer: SignInAnswer },
  /** `leaveTo`: address that signs the browser out at the identity provider; null: there is none. */
  signOut: { input: Nothing, answer: z.strictObject({ leaveTo: z.string().nullable() }) },
}
