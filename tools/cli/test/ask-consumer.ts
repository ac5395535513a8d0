import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import type { Consumer } from '@nextvisit/consumer'
import type { CallTable } from '@nextvisit/contracts'
import type { Db } from '@nextvisit/database'
import { type CallClient, createCallClient, sendLocally } from '@nextvisit/service-kit'

/** Returns the calls of a consumer, answered in this process. */
export function askConsumer<Table extends CallTable>(consumer: Consumer, table: Table, db: Db): CallClient<Table> {
  const routes = consumer.routes({
    db,
    readDb: db,
    catalog: staticCatalog([]),
    now: () => new Date(),
    barrier: () => Promise.resolve(),
    fetchNow: () => {},
    countKeyPartitions: () => Promise.resolve(1),
  })
  return createCallClient(table, sendLocally(routes))
}
