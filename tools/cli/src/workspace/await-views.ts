import { setTimeout as sleep } from 'node:timers/promises'
import { askViews, type CatalogState, emptyCatalog, readCatalog, type RunningViews } from '@nextvisit/catalog'
import { TOPICS } from '@nextvisit/contracts'
import { type LogConnection, withLogAdmin } from '@nextvisit/log'

const ASK_EVERY_MS = 100

/**
 * Waits until every running process has the current revision of every organization. Resolves to the revisions of the
 * processes then, or at the timeout.
 */
export async function awaitViews({
  connection,
  withinMs = 15_000,
  topic = TOPICS.catalog,
}: {
  readonly connection: LogConnection
  readonly withinMs?: number
  readonly topic?: string
}): Promise<RunningViews> {
  const giveUpAt = performance.now() + withinMs
  let expected: { readonly end: bigint; readonly state: CatalogState } = { end: -1n, state: emptyCatalog() }
  return withLogAdmin(connection, async (admin) => {
    for (;;) {
      const end = (await admin.watermarks(topic)).get(0)?.high ?? 0n
      if (end !== expected.end) expected = { end, state: (await readCatalog(connection, topic)).state }
      const report = await askViews(admin, topic, expected.state)
      if (report.lagging.length === 0 || performance.now() > giveUpAt) return report
      await sleep(ASK_EVERY_MS)
    }
  })
}
