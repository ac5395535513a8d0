import { INTERNAL_ROUTES, type KeptRefusal, type ProjectRef, RefusalsAnswer } from '@nextvisit/contracts'
import { createInternalClient } from '@nextvisit/service-kit'

const ANSWER_WITHIN_MS = 2_000
/** As many as Live shows. */
const LATEST = 200

/**
 * Asks any gateway for the latest refusals of a project, `limit` at most. Of many at once only some are kept (decisions.md, Refusals).
 * Undefined: no gateway answers, or Redis does not.
 */
export function createReadRefusals(gateways: readonly string[], token: string) {
  const client = createInternalClient({ baseUrls: gateways, token, timeoutMs: ANSWER_WITHIN_MS })
  return async ({ organization, project }: ProjectRef, limit = LATEST): Promise<readonly KeptRefusal[] | undefined> => {
    const query = { organization, project, limit }
    const asked = await client.call(INTERNAL_ROUTES.readRefusals, query, RefusalsAnswer)
    return asked.outcome === 'answered' ? (asked.answer.refusals ?? undefined) : undefined
  }
}

export type ReadRefusals = ReturnType<typeof createReadRefusals>
