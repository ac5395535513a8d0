import type { InternalClient } from '@nextvisit/service-kit'
import type { ZodType } from 'zod'
import { type ApiRefusal, refuse } from './http/api-route.ts'

export type ReadPart<Model> = { readonly outcome: 'read'; readonly model: Model } | ApiRefusal

/** The refusal of what a service does not know. */
export const NOT_FOUND = 'not-found'

/** Asks a service by one of its internal routes. Refuses, with what to do, where it does not answer. */
export async function askService<Model>(
  client: InternalClient,
  service: string,
  route: string,
  body: object,
  schema: ZodType<Model>,
): Promise<ReadPart<Model>> {
  const asked = await client.call(route, body, schema)
  if (asked.outcome === 'answered') return { outcome: 'read', model: asked.answer }
  if (asked.outcome === 'not-found') return refuse(404, NOT_FOUND, `${service} has nothing by that name.`)
  if (asked.outcome === 'behind')
    return refuse(503, 'behind', `${service} is behind the log. Try again; the Overview says how far.`)
  return refuse(503, 'no-answer', `${service} does not answer. The Overview says what to do.`)
}
