import { z } from 'zod'

/** Id of an organization, project, form or segment, chosen in the workspace file (decisions.md, Words). */
export const SlugId = z.string().regex(/^[a-z0-9-]{1,63}$/, 'must be 1 to 63 of the characters a-z, 0-9 and -')

export const Uuid = z.uuid()

/** An instant in the format of `Date.toISOString()`: UTC with milliseconds. The only format of time in records. */
export const Instant = z.iso.datetime({ precision: 3 })

/** The environment of a key: `P` is production, `T` is test. Only metering treats them differently (decisions.md, Words). */
export const Environment = z.enum(['P', 'T'])
export type Environment = z.infer<typeof Environment>

/** The kind of a key: `admin` (secret, for servers only) or `sdk` (publishable). */
export const KeyKind = z.enum(['admin', 'sdk'])
export type KeyKind = z.infer<typeof KeyKind>

/** A calendar month in UTC, such as `2026-11`. */
export const Month = z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/)

/** A project. Every row and every request belongs to exactly one. */
export interface ProjectRef {
  readonly organization: string
  readonly project: string
}

/** A user of one project. */
export interface UserRef extends ProjectRef {
  readonly userId: string
}
