import type { WantedChange } from '@nextvisit/operator-changes/wanted-change'
import { z, type ZodType } from 'zod'

/** A viewer reads, and sees personal data only on request. An operator may also make changes. */
export const Role = z.enum(['viewer', 'operator'])
export type Role = z.infer<typeof Role>

/** Input or answer without members. */
export const Nothing = z.strictObject({})

/** The change that a route makes. */
export interface RouteChange extends WantedChange {
  /** Code of the reason why the answer has changed nothing. Default: it has. */
  readonly failure?: string | undefined
}

/** A route for signed-in people. `API_ROUTES` contains its method and path. */
export interface RouteDefinition<Input extends ZodType = ZodType, Answer extends ZodType = ZodType> {
  /** Least role that may call it. */
  readonly role: Role
  /** Path parameters, query and body together. */
  readonly input: Input
  readonly answer: Answer
  /** Maximum size of a `POST` body, such as `1mb`. Default: 16 KiB. */
  readonly maxBody?: string
  /** Returns the members that the log shows in addition to a change and its author. They never contain a userName. */
  readonly logged: (input: unknown) => Readonly<Record<string, string>>
  /**
   * Returns the change of an operator that the route makes, once more with the answer. Absent: it makes none, or a command that
   * it starts records it.
   */
  readonly change?: ((input: unknown, answer?: unknown) => RouteChange) | undefined
}

/** Defines a route of a screen. `logged`: default none. */
export function defineRoute<Input extends ZodType, Answer extends ZodType>({
  logged,
  change,
  ...route
}: Omit<RouteDefinition<Input, Answer>, 'logged' | 'change'> & {
  readonly logged?: (input: z.output<Input>) => Readonly<Record<string, string>>
  readonly change?: (input: z.output<Input>, answer?: z.input<Answer>) => RouteChange
}): RouteDefinition<Input, Answer> {
  return {
    ...route,
    logged: (input) => logged?.(input as z.output<Input>) ?? {},
    ...(change && {
      change: (input, answer) => change(input as z.output<Input>, answer as z.input<Answer> | undefined),
    }),
  }
}
