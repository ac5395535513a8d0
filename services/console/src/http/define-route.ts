import { z, type ZodType } from 'zod'

/** A viewer reads, and sees personal data only on request. An operator may also make changes. */
export const Role = z.enum(['viewer', 'operator'])
export type Role = z.infer<typeof Role>

/** Input or answer without members. */
export const Nothing = z.strictObject({})

/** The two ends of a route: pages use the types, the server also checks them. */
export interface RouteSchemas<Input extends ZodType = ZodType, Answer extends ZodType = ZodType> {
  /** Path parameters, query and body together. */
  readonly input: Input
  readonly answer: Answer
}

/** A route for signed-in people. */
export interface RouteDefinition<Input extends ZodType = ZodType, Answer extends ZodType = ZodType>
  extends RouteSchemas<Input, Answer> {
  /** Least role that may call it. */
  readonly role: Role
  /** Maximum size of a `POST` body, such as `1mb`. Default: 16 KiB. */
  readonly maxBody?: string
  /** Returns the members that the log shows beside a `POST` and its author. They never contain a userName. */
  readonly logged: (input: unknown) => Readonly<Record<string, string>>
}

/** Routes of one screen by name. `API_ROUTES` contains their methods and paths. */
export type ApiTable = Readonly<Record<string, RouteDefinition>>

/** Defines a route of a screen. */
export function defineRoute<Input extends ZodType, Answer extends ZodType>({
  logged,
  ...route
}: RouteSchemas<Input, Answer> & {
  readonly role: Role
  readonly maxBody?: string
  readonly logged?: (input: z.output<Input>) => Readonly<Record<string, string>>
}): RouteDefinition<Input, Answer> {
  return { ...route, logged: (input) => logged?.(input as z.output<Input>) ?? {} }
}
