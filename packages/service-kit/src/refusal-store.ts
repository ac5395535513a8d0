import { KeptRefusal, type ProjectRef } from '@nextvisit/contracts'
import type { RedisConnection } from './redis.ts'

/** New refusals of one project. */
export interface ProjectRefusals extends ProjectRef {
  /** Number by reason, including those that are not in `kept`. */
  readonly counts: ReadonlyMap<string, number>
  readonly kept: readonly KeptRefusal[]
}

export interface StoredRefusals {
  /** Newest first. */
  readonly refusals: readonly KeptRefusal[]
  /** Number by reason in this hour and the 24 before it. */
  readonly counts: Readonly<Record<string, number>>
}

export type RefusalStore = ReturnType<typeof createRefusalStore>

/** Maximum number of stored refusals of a project and reason; the latest stay. */
export const MAX_REFUSALS_PER_REASON = 50

const HOUR_MS = 3_600_000
const KEPT_MS = 24 * HOUR_MS
const COUNTED_HOURS = Array.from({ length: 25 }, (_, hours) => hours)

/**
 * Creates the store of the latest refusals of each project (decisions.md, Refusals). They are in Redis, which may lose them,
 * for every gateway and tool. All functions reject if Redis fails.
 */
export function createRefusalStore(redis: RedisConnection['client'], keyPrefix = 'nextvisit:') {
  const keyOf = ({ organization, project }: ProjectRef) => `${keyPrefix}refusals:${organization}/${project}:`
  const countsKey = (project: ProjectRef, hour: number) => `${keyOf(project)}count:${hour}`
  const listKey = (project: ProjectRef, reason: string) => `${keyOf(project)}latest:${reason}`

  /** Runs commands in one round trip. */
  async function run(pipeline: ReturnType<typeof redis.pipeline>): Promise<readonly unknown[]> {
    const results = (await pipeline.exec()) ?? []
    return results.map(([error, result]) => {
      if (error) throw error
      return result
    })
  }

  async function add(all: readonly ProjectRefusals[], nowMs: number): Promise<void> {
    const hour = Math.floor(nowMs / HOUR_MS)
    const pipeline = redis.pipeline()
    for (const project of all) {
      const counted = countsKey(project, hour)
      for (const [reason, count] of project.counts) pipeline.hincrby(counted, reason, count)
      pipeline.pexpire(counted, COUNTED_HOURS.length * HOUR_MS)
      for (const [reason, refusals] of Map.groupBy(project.kept, (refusal) => refusal.reason)) {
        const list = listKey(project, reason)
        pipeline.lpush(list, ...refusals.map((refusal) => JSON.stringify(refusal)))
        pipeline.ltrim(list, 0, MAX_REFUSALS_PER_REASON - 1)
        pipeline.pexpire(list, KEPT_MS)
      }
    }
    await run(pipeline)
  }

  async function readCounts(project: ProjectRef, nowMs: number): Promise<ReadonlyMap<string, number>> {
    const hour = Math.floor(nowMs / HOUR_MS)
    const pipeline = redis.pipeline()
    for (const hours of COUNTED_HOURS) pipeline.hgetall(countsKey(project, hour - hours))
    return sumOf((await run(pipeline)) as Record<string, string>[])
  }

  async function readLists(project: ProjectRef, reasons: readonly string[]): Promise<readonly (readonly string[])[]> {
    const pipeline = redis.pipeline()
    for (const reason of reasons) pipeline.lrange(listKey(project, reason), 0, -1)
    return (await run(pipeline)) as string[][]
  }

  /** Reads refusals and counts. `only`: just the refusals of this reason; the counts are of all. */
  async function read(project: ProjectRef, nowMs: number, only?: string): Promise<StoredRefusals> {
    const counts = await readCounts(project, nowMs)
    const reasons = [...counts.keys()].filter((reason) => only === undefined || only === reason)
    const texts = (await readLists(project, reasons)).flat()
    return { refusals: texts.flatMap(parse).toSorted(newestFirst), counts: Object.fromEntries(counts) }
  }

  /**
   * Deletes the refusals of these users, and returns the number by user. The counts stay. A gateway writes refusals up to a
   * second late, so an erasure calls this again until it completes; later ones name nobody but the userId.
   */
  async function erase(
    project: ProjectRef,
    userIds: ReadonlySet<string>,
    nowMs: number,
  ): Promise<ReadonlyMap<string, number>> {
    const reasons = [...(await readCounts(project, nowMs)).keys()]
    const pipeline = redis.pipeline()
    const owners: string[] = []
    for (const [index, texts] of (await readLists(project, reasons)).entries()) {
      const list = listKey(project, reasons[index] ?? '')
      for (const text of texts) {
        const [userId] = parse(text).flatMap((refusal) => refusal.userId ?? [])
        if (userId === undefined || !userIds.has(userId)) continue
        // By content, since a gateway may push others in between.
        pipeline.lrem(list, 0, text)
        owners.push(userId)
      }
    }
    const removed = (await run(pipeline)) as number[]
    const byUser = new Map<string, number>()
    for (const [at, userId] of owners.entries()) byUser.set(userId, (byUser.get(userId) ?? 0) + (removed[at] ?? 0))
    return byUser
  }

  return { add, read, erase }
}

function sumOf(hours: readonly Readonly<Record<string, string>>[]): ReadonlyMap<string, number> {
  const sum = new Map<string, number>()
  for (const [reason, count] of hours.flatMap((hour) => Object.entries(hour)))
    sum.set(reason, (sum.get(reason) ?? 0) + Number(count))
  return sum
}

/** Ignores refusals that another version stored in another form. */
function parse(text: string): readonly KeptRefusal[] {
  const { data } = KeptRefusal.safeParse(JSON.parse(text))
  return data ? [data] : []
}

/** Ids are UUIDv7, so their order is the order of time. */
function newestFirst(one: KeptRefusal, other: KeptRefusal): number {
  return one.id < other.id ? 1 : -1
}
