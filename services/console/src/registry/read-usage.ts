import type { CatalogProject } from '@nextvisit/catalog'
import { INTERNAL_ROUTES, UsageAnswer } from '@nextvisit/contracts'
import { monthBefore, monthOf } from '@nextvisit/domain'
import { createInternalClient } from '@nextvisit/service-kit'
import type { ProjectUsage } from '../api/registry.ts'
import { askService } from '../ask-service.ts'
import { answered, type ApiResult } from '../http/api-route.ts'
import { projectUsageOf } from './limit-lines.ts'

export type ReadUsage = (project: CatalogProject) => Promise<ApiResult<ProjectUsage>>

export interface ReadUsageParts {
  /** The processes of metering. */
  readonly baseUrls: readonly string[]
  readonly token: string
  readonly nowMs: () => number
}

const ANSWER_WITHIN_MS = 3_000

/** Asks metering how much of a project's limits is used. */
export function createReadUsage({ baseUrls, token, nowMs }: ReadUsageParts): ReadUsage {
  const metering = createInternalClient({ baseUrls, token, timeoutMs: ANSWER_WITHIN_MS })
  return async ({ organization, project, plan }) => {
    const now = nowMs()
    const month = monthOf(new Date(now).toISOString())
    const ask = (of: string) =>
      askService(metering, 'metering', INTERNAL_ROUTES.readUsage, { organization, project, month: of }, UsageAnswer)
    const [usage, before] = await Promise.all([ask(month), ask(monthBefore(month))])
    if (usage.outcome === 'refused') return usage
    if (before.outcome === 'refused') return before
    return answered(projectUsageOf({ plan, usage: usage.answer, before: before.answer, nowMs: now }))
  }
}
