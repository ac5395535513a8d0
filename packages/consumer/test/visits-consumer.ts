import { openTestClient } from '@nextvisit/database/testing'
import { type Consumer, defineConsumer } from '../src/process/define-consumer.ts'
import { createVisitsProjection, VISITS_DIRECTORY } from './visits-projection.ts'

/** The example of the core's specs as a consumer of `topic`. */
export function visitsConsumer(topic?: string): Consumer {
  return defineConsumer({
    name: 'visits',
    directory: VISITS_DIRECTORY,
    version: 'test',
    schema: 'visits',
    openDb: async (adapter) => openTestClient(adapter),
    projection: () => createVisitsProjection(topic),
    // The row that the example's ticks write does not come from the log.
    tables: {
      visits: {
        comparedWhere: () => `user_id <> '00000000-0000-4000-8000-000000000000'`,
      },
    },
    calls: {},
  })
}
