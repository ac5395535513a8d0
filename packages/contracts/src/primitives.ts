import { z } from 'zod'

/** Id of an organization, project, form or segment, chosen in the workspace file (decisions.md, Words). */
export const SlugId = z.string().regex(/^[a-z0-9-]{1,63}$/, 'must be 1 to 63 of the characters a-z, 0-9 and -')

export const Uuid = z.uuid()

/** An instant as `Date.toISOString()` writes it: UTC, milliseconds. The only form of time in records. */
export const Instant = z.iso.datetime({ precision: 3 })

/** `P` is production, `T` is test. Only metering differs (decisions.md, Words). */
export const Environment = z.enum(['P', 'T'])
export type Environment = z.infer<typeof Environment>

/** By which kind of key a request came: `admin` (secret, servers only) or `sdk` (publishable). */
export const KeyKind = z.enum(['admin', 'sdk'])
export type KeyKind = z.infer<typeof KeyKind>

/** A calendar month of UTC, `2026-11`. */
export const Month = z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/)

/** Where something lives: every row and every request belongs to exactly one project. */
export interface ProjectRef {
  readonly organization: string
  readonly project: string
}

/** Whose a row is: a user of one project. */
export interface UserRef extends ProjectRef {
  readonly userId: string
}
