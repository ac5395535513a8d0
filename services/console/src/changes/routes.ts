import { TopicMissingError } from '@nextvisit/log'
import { readChanges } from '@nextvisit/operator-changes'
import type { Dependencies } from '../dependencies.ts'
import { answered, refuse, refuseWithoutLog, serveApi } from '../http/api-route.ts'
import { changesApi } from './api.ts'

const CHANGES_A_PAGE = 50
/** The page waits for no longer, and then has what was read. */
const READ_WITHIN_MS = 4_000
const NO_TOPIC = refuse(
  503,
  'no-topic',
  'There is no topic operator-changes, so nothing can be changed either. Create it with nextvisit topics create.',
)

/** Creates the route that lists changes. It reads the end of the topic, and keeps nothing. */
export function createChangeRoutes({ connection, logger }: Pick<Dependencies, 'connection' | 'logger'>) {
  return serveApi(changesApi, {
    listChanges: async ({ actor, ...query }, _session, closed) => {
      const signal = AbortSignal.any([closed, AbortSignal.timeout(READ_WITHIN_MS)])
      const wanted = { ...query, actor: actor || undefined, limit: CHANGES_A_PAGE, signal }
      const read = await readChanges(connection, wanted).catch((error: unknown) => {
        if (!(error instanceof TopicMissingError || closed.aborted))
          logger.warn({ err: error }, 'changes could not be read')
        return error instanceof TopicMissingError ? NO_TOPIC : refuseWithoutLog('The list of changes')
      })
      if ('status' in read) return read
      const { changes, ...page } = read
      return answered({ ...page, changes: changes.map((one) => ({ ...one, lines: [...one.lines] })) })
    },
  })
}
