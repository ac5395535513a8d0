import { setTimeout as sleep } from 'node:timers/promises'
import { viewGroupPrefix } from '@nextvisit/catalog'
import { TOPICS } from '@nextvisit/contracts'
import { type LogAdmin, type LogConnection, withLogAdmin } from '@nextvisit/log'

export interface AwaitViewsOptions {
  readonly connection: LogConnection
  /** The end of the catalog as `applyWorkspace` read it. */
  readonly end: bigint
  /** Default 15,000. */
  readonly withinMs?: number
  /** Default: `catalog`. */
  readonly topic?: string
}

/** Which running views have read that far, and which had not when the time was over: `<service>.<instance>` each. */
export interface ViewsReport {
  readonly current: readonly string[]
  readonly lagging: readonly string[]
}

const ASK_EVERY_MS = 100

/** Waits until every running view has read the catalog up to `end`. Groups without members are of views that are gone. */
export async function awaitViews(options: AwaitViewsOptions): Promise<ViewsReport> {
  const { connection, end, withinMs = 15_000, topic = TOPICS.catalog } = options
  const giveUpAt = performance.now() + withinMs
  return withLogAdmin(connection, async (admin) => {
    for (;;) {
      const report = await askViews(admin, topic, end)
      if (report.lagging.length === 0 || performance.now() > giveUpAt) return report
      await sleep(ASK_EVERY_MS)
    }
  })
}

async function askViews(admin: LogAdmin, topic: string, end: bigint): Promise<ViewsReport> {
  const prefix = viewGroupPrefix(topic)
  const current: string[] = []
  const lagging: string[] = []
  for (const groupId of await admin.listGroups(prefix)) {
    const { members } = await admin.describeGroup(groupId)
    if (members.length === 0) continue
    const position = (await admin.groupOffsets(groupId, topic)).get(0) ?? 0n
    const side = position >= end ? current : lagging
    side.push(groupId.slice(prefix.length))
  }
  return { current, lagging }
}
