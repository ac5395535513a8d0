import { type IdentifyRequested, ROUTES, type VisitAnswered, type VisitReply } from '@nextvisit/contracts'
import { compileForms, type IdentifyBody, memberOf, parseIdentifyBody, uuidV5 } from '@nextvisit/domain'
import type { Logger } from '@nextvisit/service-kit'
import type { AdmitIdentify } from '../../admission/admit-identify.ts'
import { answer, type Route } from '../../http/route.ts'
import type { UserEventPublisher } from '../../publishing/user-event-publisher.ts'
import { type CountryOf, withCallerCountry } from '../caller-country.ts'
import { createSingleRoute } from '../record-one.ts'
import { defineKind, type Stages } from '../stages.ts'

/** Creates the identify of a page, which is answered with the form to show. */
function createVisitKind(admit: AdmitIdentify, countryOf: CountryOf) {
  return defineKind<IdentifyBody, IdentifyRequested>({
    identifies: true,
    // The address is read at once, since the socket of a caller who has left has none.
    parse: ({ body, request }) => {
      const parsed = parseIdentifyBody(body)
      if (parsed.outcome !== 'ok') return parsed
      return { ...parsed, value: withCallerCountry(parsed.value, request, countryOf) }
    },
    admit,
    mayReact: (_fact, { config }) => compileForms(config).reactsToVisits(),
    answer: (fact, reply, { config: { sdk } }) => {
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
  })
}

interface VisitParts {
  readonly stages: Stages
  readonly admit: AdmitIdentify
  readonly countryOf: CountryOf
  readonly requestBudgetMs: number
  readonly userEvents: UserEventPublisher
  readonly logger: Logger
}

/** Creates `POST /v2/sdk/identify-user`, the visit (decisions.md, Beyond the document). */
export function createVisitRoute({ stages, admit, countryOf, requestBudgetMs, userEvents, logger }: VisitParts): Route {
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
        { requestId: fact.visitId, outcome },
        'Could not confirm a form that was handed out: it may be shown again',
      )
  }

  return {
    ...createSingleRoute(stages)(ROUTES.visit, createVisitKind(admit, countryOf)),
    repeatedContent: (body) =>
      body['repeatMayDiffer'] === true ? JSON.stringify(memberOf(body, 'userName')) : undefined,
    afterwards: ({ confirms }, traceparent) => confirms && confirm(confirms, traceparent),
  }
}

/** Returns the confirmation of an offer. Every answer that offers this row to this visit has the same id. */
function confirmationOf(visit: IdentifyRequested, offer: NonNullable<VisitReply['offer']>): VisitAnswered {
  const { id: visitId, organization, project, userId, received } = visit
  const id = uuidV5(offer.queuedId, visitId)
  return { type: 'VisitAnswered', id, organization, project, userId, received, visitId, ...offer }
}
