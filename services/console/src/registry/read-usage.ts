import type { CatalogProject } from '@nextvisit/catalog'
import { INTERNAL_ROUTES, type ProjectRef, UsageAnswer } from '@nextvisit/contracts'
import { monthBefore, monthOf } from '@nextvisit/domain'
import { createInternalClient } from '@nextvisit/service-kit'
import { askService } from '../ask-service.ts'
import { answered, type ApiResult } from '../http/api-route.ts'
import type { ProjectUsage } from './api.ts'
import { projectUsageOf } from './limit-lines.ts'

/** Metering's counters of a project in a month, `2026-11`. */
export type AskUsage = (project: ProjectRef, month: string) => Promise<ApiResult<UsageAnswer>>
export type ReadUsage = (project: CatalogProject) => Promise<ApiResult<ProjectUsage>>

export interface AskUsageParts {
  /** The processes of metering. */
  readonly baseUrls: readonly string[]
  readonly token: string
}

const ANSWER_WITHIN_MS = 3_000

export function createAskUsage({ baseUrls, token }: AskUsageParts): AskUsage {
  const metering = createInternalClient({ baseUrls, token, timeoutMs: ANSWER_WITHIN_MS })
  return ({ organization, project }, month) =>
    askService(metering, 'metering', INTERNAL_ROUTES.readUsage, { organization, project, month }, UsageAnswer)
}

/** Reads how much of a project's limits is used, and when they will be reached. */
export function createReadUsage(askUsage: AskUsage, nowMs: () => number): ReadUsage {
  return async (project) => {
    const now = nowMs()
    const month = monthOf(new Date(now).toISOString())
    const [usage, before] = await Promise.all([askUsage(project, month), askUsage(project, monthBefore(month))])
    if (usage.outcome === 'refused') return usage
    if (before.outcome === 'refused') return before
    return answered(projectUsageOf({ plan: project.plan, usage: usage.answer, before: before.answer, nowMs: now }))
  }
}
