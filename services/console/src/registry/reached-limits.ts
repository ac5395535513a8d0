import type { CatalogProject } from '@nextvisit/catalog'
import type { ProjectRef } from '@nextvisit/contracts'
import { monthOf } from '@nextvisit/domain'
import type { KnownCatalog } from '../catalog/known-catalog.ts'
import type { CallsOf } from '../services.ts'
import { createSharedRead, withLastAnswer } from '../shared-read.ts'
import type { LimitLine } from './api.ts'
import { reachedLinesOf } from './limit-lines.ts'

/** A limit with no room left. */
export interface ReachedLimit extends ProjectRef {
  readonly line: LimitLine
  /** Time of the counters. */
  readonly readAtMs: number
}

/** Each costs metering some queries. With more projects, findings only count refusals. */
const MAX_PROJECTS = 10
const AGAIN_AFTER_MS = 60_000
const WAIT_MS = 500

/** Creates a reader of the reached limits. It returns what is known within half a second, so the Overview stays fast. */
export function createReachedLimits({
  catalog,
  metering,
  nowMs,
}: {
  readonly catalog: () => Promise<Pick<KnownCatalog, 'projects'>>
  readonly metering: Pick<CallsOf<'metering'>, 'readUsage'>
  readonly nowMs: () => number
}): () => Promise<readonly ReachedLimit[]> {
  async function read(): Promise<readonly ReachedLimit[]> {
    const projects = (await catalog()).projects()
    if (projects.length > MAX_PROJECTS) return []
    // Concurrently, so they wait once for metering's folds.
    return (await Promise.all(projects.map(reachedBy))).flat()
  }

  /** Returns nothing for a project whose counters cannot be read. */
  async function reachedBy({ organization, project, plan }: CatalogProject): Promise<readonly ReachedLimit[]> {
    const now = nowMs()
    const month = monthOf(new Date(now).toISOString())
    const usage = await metering.readUsage({ organization, project, month })
    if (usage.outcome === 'refused') return []
    const lines = reachedLinesOf({ plan, usage: usage.answer, nowMs: now })
    return lines.map((line) => ({ organization, project, line, readAtMs: now }))
  }

  return withLastAnswer(createSharedRead(read, AGAIN_AFTER_MS), WAIT_MS, [])
}
