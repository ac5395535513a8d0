import { z } from 'zod'
import { Role } from './define-route.ts'

/** The person who acts, as logs and facts name them. */
export const Actor = z.object({
  role: Role,
  name: z.string(),
  /** The identity provider vouches for the name. false: the person typed it at the sign-in with a token. */
  isVerified: z.boolean(),
  /** Id of the person at the identity provider, which stays when the name changes. null: signed in with a token. */
  subject: z.string().nullable(),
  /** Identifies the session in the log. It gives no access. */
  logName: z.string(),
})
export type Actor = z.infer<typeof Actor>
