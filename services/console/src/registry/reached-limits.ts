import type { CatalogProject } from '@nextvisit/catalog'
import type { LimitLine } from '../api/registry.ts'
import type { KnownCatalog } from '../known-catalog.ts'
import { createSharedRead, orReadLast } from '../shared-read.ts'
import type { ReadUsage } from './read-usage.ts'

/** A limit of which nothing is left. */
export interface ReachedLimit {
  readonly organization: string
  readonly project: string
  readonly line: LimitLine
}

/** Each costs metering some queries. With more, a finding says only that requests are refused. */
const MAX_PROJECTS = 10
const AGAIN_AFTER_MS = 15_000
const WAIT_MS = 500

/** Which limits are reached, as far as it is known within half a second: nobody waits longer for an Overview. */
export function createReachedLimits(
  catalog: () => Promise<Pick<KnownCatalog, 'projects'>>,
  readUsage: ReadUsage,
): () => Promise<readonly ReachedLimit[]> {
  async function read(): Promise<readonly ReachedLimit[]> {
    const projects = (await catalog()).projects()
    if (projects.length > MAX_PROJECTS) return []
    return (await Promise.all(projects.map(reachedBy))).flat()
  }

  async function reachedBy(of: CatalogProject): Promise<readonly ReachedLimit[]> {
    const usage = await readUsage(of)
    if (usage.outcome === 'refused') throw new Error(usage.message)
    const { organization, project } = of
    return usage.answer.limits
      .filter(({ outlook }) => outlook === 'reached')
      .map((line) => ({ organization, project, line }))
  }

  return orReadLast(createSharedRead(read, AGAIN_AFTER_MS), WAIT_MS, [])
}
