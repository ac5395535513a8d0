import type { IncomingMessage } from 'node:http'

/** Without the query. */
export function pathOf({ url = '' }: IncomingMessage): string {
  const queryAt = url.indexOf('?')
  return queryAt === -1 ? url : url.slice(0, queryAt)
}
