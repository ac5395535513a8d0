import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import type { Consumer } from '@nextvisit/consumer'
import type { Db } from '@nextvisit/database'

/** Asks a consumer as other services do, without a process between. */
export function callRoute(consumer: Consumer, db: Db) {
  const routes = consumer.routes({
    db,
    readDb: db,
    catalog: staticCatalog([]),
    now: () => new Date(),
    barrier: () => Promise.resolve(),
    hurry: () => {},
    countPartitions: () => Promise.resolve(1),
  })
  const context = { signal: new AbortController().signal, deadlineAt: Number.POSITIVE_INFINITY }
  return async (path: string, body: object): Promise<object> => {
    const route = routes.find((one) => one.path === path)
    if (!route) throw new RangeError(`${consumer.name} has no route ${path}`)
    return (await route.handle(body, context)) as object
  }
}
