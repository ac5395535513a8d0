import { monthOf } from '../admission/admission.ts'
import type { Metering } from '../clients/metering.ts'
import type { TraitRegistry } from '../clients/trait-registry.ts'
import { REFUSALS, type Refusal, refuse } from '../http/refusals.ts'
import { type Answer, answer } from '../http/write-answer.ts'
import { parsePage } from './page-query.ts'
import { type CheckedRequest, type Route, ROUTES } from './route.ts'

/** A project's counters and registries (decisions.md, Beyond the document). */
export function createProjectRoutes(
  { readUsage }: Pick<Metering, 'readUsage'>,
  { readDefinitions }: Pick<TraitRegistry, 'readDefinitions'>,
): readonly Route[] {
  /** This month's counters beside the plan's limits, `null` for none. */
  async function getUsage({ project: { organization, project, plan }, receivedMs, deadlineAt }: CheckedRequest) {
    const month = monthOf(new Date(receivedMs).toISOString())
    const usage = await readUsage({ organization, project, month }, deadlineAt)
    if (usage.outcome !== 'answered') return refuse(REFUSALS.notRead)
    const count = usage.answer
    return answer(200, {
      month: count.month,
      events: { count: count.events, limit: plan.eventsPerMonth ?? null },
      monthlyActiveUsers: { count: count.monthlyActiveUsers, limit: plan.monthlyActiveUsers ?? null },
      uniqueEvents: { count: count.uniqueEvents, limit: plan.uniqueEvents ?? null },
      uniqueTraits: { count: count.uniqueTraits, limit: plan.uniqueTraits ?? null },
    })
  }

  /** Definitions by slug, a page at a time. */
  async function listDefinitions(kind: 'trait' | 'event', request: CheckedRequest): Promise<Answer | Refusal> {
    const { organization, project } = request.project
    const page = parsePage(request.query)
    if (page.outcome === 'refused') return page
    const read = await readDefinitions({ kind, organization, project, ...page.query }, request.deadlineAt)
    if (read.outcome !== 'answered') return refuse(REFUSALS.notRead)
    return answer(200, { [`${kind}s`]: read.answer.definitions, next: read.answer.next })
  }

  return [
    { ...ROUTES.getUsage, handle: getUsage },
    { ...ROUTES.listTraits, handle: (request) => listDefinitions('trait', request) },
    { ...ROUTES.listEvents, handle: (request) => listDefinitions('event', request) },
  ]
}
