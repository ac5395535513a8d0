import { Instant, SlugId } from '@nextvisit/contracts'
import { z } from 'zod'

/** A viewer sees figures, and personal data only on request. An operator may also change something. */
export const Role = z.enum(['viewer', 'operator'])
export type Role = z.infer<typeof Role>

export const SignIn = z.strictObject({
  token: z.string().min(1).max(500),
  /** Goes into the log with each change, and into rows. Default: the role. */
  name: z
    .string()
    .trim()
    .max(60)
    .regex(/^\P{C}*$/u, 'must hold no control characters')
    .default(''),
})

export const SessionAnswer = z.strictObject({
  role: Role,
  name: z.string(),
  expiresAt: Instant,
  /** Whether the demo is loaded, so that *Try it* has keys. */
  canTry: z.boolean(),
})
export type SessionAnswer = z.infer<typeof SessionAnswer>

export const ProjectsAnswer = z.strictObject({
  projects: z.array(z.strictObject({ organization: SlugId, project: SlugId })),
})
export type ProjectsAnswer = z.infer<typeof ProjectsAnswer>

/** The body of every error. */
export const ErrorAnswer = z.strictObject({
  /** For code, such as `signed-out`. */
  error: z.string(),
  /** For people: what is wrong, and what to do. */
  message: z.string(),
})
export type ErrorAnswer = z.infer<typeof ErrorAnswer>

export const Nothing = z.strictObject({})
