import { randomUUIDv7 } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CatalogView } from '@nextvisit/catalog'
import type { RouteSignature } from '@nextvisit/contracts'
import type { createKeptRefusals } from '../refusals/kept-refusals.ts'
import type { Refusal } from '../refusals/refusals.ts'
import { CORS_HEADERS, writeAnswer } from './answer/write-answer.ts'
import { createFindKey, keyInHeaders } from './find-key.ts'
import { pathOf } from './route.ts'

interface RefusePathParts {
  readonly catalog: Pick<CatalogView, 'keyByHash'>
  readonly onRefused: ReturnType<typeof createKeptRefusals>['note']
}

/** Stand in for the unknown paths below a prefix. A path itself is text of the caller, so it is not kept. */
const AREAS: readonly (Omit<RouteSignature, 'method'> & { readonly prefix: string })[] = [
  { prefix: '/v1/', pattern: '/v1/…', keyKind: 'admin', keyIn: 'basic-or-body' },
  { prefix: '/v2/sdk/', pattern: '/v2/sdk/…', keyKind: 'sdk' },
  { prefix: '/v2/', pattern: '/v2/…', keyKind: 'admin' },
]
const READS: readonly (string | undefined)[] = ['GET', 'HEAD']

/**
 * Creates the answer to an unknown path or method. A refusal below a known prefix, with a valid key in a header, is listed in
 * the refusals of its project (decisions.md, Refusals): a library with another path would otherwise lose its data unnoticed.
 */
export function createRefusePath({ catalog, onRefused }: RefusePathParts) {
  const findKey = createFindKey(catalog)
  return (request: IncomingMessage, response: ServerResponse, refusal: Refusal): void => {
    const requestId = randomUUIDv7()
    // Libraries join a host and a path of their own, so slashes may be doubled.
    const path = pathOf(request).replaceAll(/\/+/g, '/').toLowerCase()
    const area = AREAS.find(({ prefix }) => path.startsWith(prefix))
    const keyText = area && keyInHeaders(area, request)
    const key = keyText === undefined ? undefined : findKey(keyText)
    if (area && key)
      onRefused(
        { route: { ...area, method: READS.includes(request.method) ? 'GET' : 'POST' }, requestId, key },
        refusal,
      )
    writeAnswer(response, refusal, { 'X-Request-Id': requestId, ...(area?.keyKind === 'sdk' && CORS_HEADERS) })
  }
}
