import { type IdentifyRequested, ROUTES, type VisitAnswered, type VisitReply } from '@nextvisit/contracts'
import { compileForms, memberOf, uuidV5 } from '@nextvisit/domain'
import type { Logger } from '@nextvisit/service-kit'
import { answer } from '../api/answer.ts'
import type { Route } from '../http/route.ts'
import type { RecordLog } from '../publishing/record-log.ts'
import { type CountryOf, withCallerCountry } from './caller-country.ts'
import type { IdentifyRecording } from './identify-user.ts'
import type { createSingleRoute } from './single-route.ts'

interface VisitParts {
  readonly identify: IdentifyRecording
  readonly singleRoute: ReturnType<typeof createSingleRoute>
  readonly countryOf: CountryOf
  readonly requestBudgetMs: number
  readonly log: RecordLog
  readonly logger: Logger
}

/** `POST /v2/sdk/identify-user`, the visit: brings back the form to show (decisions.md, Beyond the document). */
export function createVisit({ identify, singleRoute, countryOf, requestBudgetMs, log, logger }: VisitParts): Route {
  const recording: IdentifyRecording = {
    ...identify,
    // The address is read at once: a socket whose caller has left has none.
    parse: (request) => {
      const parsed = identify.parse(request)
      if (parsed.outcome !== 'ok') return parsed
      return { ...parsed, value: withCallerCountry(parsed.value, request, countryOf) }
    },
    mayReact: ({ project }) => compileForms(project.config).reactsToVisits(),
    answer: (request, { fact, reply }) => {
      const { sdk } = request.project.config
      const visit = typeof reply === 'object' && reply.kind === 'visit' ? reply : undefined
      const offer = visit?.offer
      const visitAnswer = answer(200, {
        message: 'ok',
        userId: fact.userId,
        pingAgainIn: sdk.pingAgainInSeconds,
        pingOnNextPageVisit: sdk.pingOnNextPageVisit || visit?.moreWaiting === true,
        onPageDelay: sdk.onPageDelaySeconds,
        ...(offer && { nextFeedbackId: offer.formId }),
      })
      return offer ? { ...visitAnswer, confirms: confirmationOf(fact, offer) } : visitAnswer
    },
  }

  /**
   * Makes the form that an answer handed out delivered. A form whose confirmation is lost is offered again, and so is one
   * whose caller left before the answer was written: unless it repeats the visit, and gets the form with the kept answer.
   * Then that confirms it; confirming twice changes nothing (forms.md, The queue).
   */
  async function confirm(fact: VisitAnswered, traceparent: string): Promise<void> {
    const place = log.placeOf(fact.userId)
    const deadlineAt = performance.now() + requestBudgetMs
    const outcome = place ? (await log.publish(fact, place, { deadlineAt, traceparent })).outcome : 'not-published'
    if (outcome !== 'published')
      logger.warn(
        { requestId: fact.visitId, outcome },
        'A form was handed out but not confirmed: it may be shown again',
      )
  }

  return {
    ...singleRoute(ROUTES.visit, recording),
    repeatedContent: (body) =>
      body['repeatMayDiffer'] === true ? JSON.stringify(memberOf(body, 'userName')) : undefined,
    afterwards: ({ confirms }, traceparent) => confirms && confirm(confirms, traceparent),
  }
}

/** Its id is the same for each answer that hands out this row to this visit. */
function confirmationOf(visit: IdentifyRequested, offer: NonNullable<VisitReply['offer']>): VisitAnswered {
  const { id: visitId, organization, project, userId, received } = visit
  const id = uuidV5(offer.queuedId, visitId)
  return { type: 'VisitAnswered', id, organization, project, userId, received, visitId, ...offer }
}
