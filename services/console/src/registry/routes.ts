import { monthBefore, monthOf } from '@nextvisit/domain'
import { createInProject } from '../catalog/find-project.ts'
import type { Dependencies } from '../dependencies.ts'
import { answered, serveApi } from '../http/api-route.ts'
import { registryApi } from './api.ts'
import { projectUsageOf } from './limit-lines.ts'
import { namesPageOf, slugPrefixOf } from './name-lines.ts'

const NAMES_A_PAGE = 50

export function createRegistryRoutes({
  catalog,
  metering,
  registry,
  nowMs,
}: Pick<Dependencies, 'catalog' | 'metering' | 'registry' | 'nowMs'>) {
  const inProject = createInProject(catalog)

  return serveApi(registryApi, {
    readUsage: inProject(async ({ plan }, path, _session, signal) => {
      const now = nowMs()
      const month = monthOf(new Date(now).toISOString())
      const [usage, before] = await Promise.all([
        metering.readUsage({ ...path, month }, signal),
        metering.readUsage({ ...path, month: monthBefore(month) }, signal),
      ])
      if (usage.outcome === 'refused') return usage
      if (before.outcome === 'refused') return before
      return answered(projectUsageOf({ plan, usage: usage.answer, before: before.answer, nowMs: now }))
    }),
    listNames: inProject(async (declared, { kind, after, prefix: namePrefix, ...path }, _session, signal) => {
      const prefix = slugPrefixOf(kind, namePrefix)
      const asked = {
        ...path,
        kind: kind === 'traits' ? 'trait' : 'event',
        prefix,
        after,
        limit: NAMES_A_PAGE,
      } as const
      const read = await registry.readDefinitions(asked, signal)
      if (read.outcome === 'refused') return read
      return answered(namesPageOf({ kind, page: read.answer, declared, prefix, after, limit: NAMES_A_PAGE }))
    }),
  })
}
