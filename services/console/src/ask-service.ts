import type { InternalClient } from '@nextvisit/service-kit'
import type { ZodType } from 'zod'
import { answered, type ApiRefusal, type ApiResult, refuse } from './http/api-route.ts'

/** The refusal of what a service does not know. */
export const NOT_FOUND = 'not-found'

/** Asks a service by one of its internal routes. Refuses, with what to do, where it does not answer. */
export async function askService<Answer>(
  client: InternalClient,
  service: string,
  route: string,
  body: object,
  schema: ZodType<Answer>,
): Promise<ApiResult<Answer>> {
  const asked = await client.call(route, body, schema)
  if (asked.outcome === 'answered') return answered(asked.answer)
  if (asked.outcome === 'not-found') return refuse(404, NOT_FOUND, `${service} has nothing by that name.`)
  if (asked.outcome === 'behind')
    return refuse(503, 'behind', `${service} is behind the log. Try again; the Overview says how far.`)
  return noAnswerOf(service)
}

export function noAnswerOf(service: string): ApiRefusal {
  return refuse(503, 'no-answer', `${service} does not answer. The Overview says what to do.`)
}
