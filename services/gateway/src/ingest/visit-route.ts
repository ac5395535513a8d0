import { ROUTES, type VisitAnswered } from '@nextvisit/contracts'
import { memberOf, parseVisitJson } from '@nextvisit/domain'
import { type Logger, traceFields } from '@nextvisit/service-kit'
import type { Route } from '../http/route.ts'
import type { UserEventPublisher } from '../publishing/user-event-publisher.ts'
import type { FormDelivery } from './form-delivery.ts'
import type { RecordKind, Stages } from './stages.ts'

interface VisitRouteParts {
  readonly stages: Stages
  readonly visit: RecordKind
  readonly withForm: FormDelivery['withForm']
  readonly requestBudgetMs: number
  readonly userEvents: UserEventPublisher
  readonly logger: Logger
}

/** Creates `POST /v2/sdk/identify-user`, the visit (decisions.md, Beyond the document). */
export function createVisitRoute(parts: VisitRouteParts): Route {
  const { stages, visit, withForm, requestBudgetMs, userEvents, logger } = parts

  /**
   * Confirms that a form was handed out. An unconfirmed form is offered again: if this fails, or if the caller left
   * before the answer was written. A repeat of the visit gets the kept answer and confirms it, too. A second
   * confirmation changes nothing (forms.md, The queue).
   */
  async function confirm(fact: VisitAnswered, traceparent: string): Promise<void> {
    const user = userEvents.partitionOf(fact.userId)
    const deadlineAt = performance.now() + requestBudgetMs
    const outcome = user ? (await userEvents.publish(fact, user, { deadlineAt, traceparent })).outcome : 'not-published'
    if (outcome !== 'published')
      logger.warn(
        { requestId: fact.visitId, outcome, ...traceFields(traceparent) },
        'Could not confirm a form that was handed out: it may be shown again',
      )
  }

  return {
    ...ROUTES.visit,
    parseBody: parseVisitJson,
    handle: async (request) => {
      const result = await stages.record(visit, request)
      return result.outcome === 'answered' ? withForm(result, request.project) : result
    },
    repeatedContent: (body) =>
      body['repeatMayDiffer'] === true ? JSON.stringify(memberOf(body, 'userName')) : undefined,
    afterwards: ({ confirms }, traceparent) => confirms && confirm(confirms, traceparent),
  }
}
