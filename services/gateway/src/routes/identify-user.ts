import type { IdentifyRequested, VisitAnswered, VisitReply } from '@nextvisit/contracts'
import { compileForms, type IdentifyBody, memberOf, parseIdentifyBody, uuidV5 } from '@nextvisit/domain'
import { answer, REFUSALS, refuse, ROUTES } from '@nextvisit/public-api'
import type { Logger } from '@nextvisit/service-kit'
import type { AdmitIdentify } from '../admission/admit-identify.ts'
import type { RecordLog } from '../log/record-log.ts'
import { type CountryOf, withCallerCountry } from './caller-country.ts'
import type { Recording } from './prepare-record.ts'
import type { RecordRequest } from './record-request.ts'
import type { CheckedRequest, Route } from '../request/route.ts'
import type { CheckSignature } from './user-signature.ts'

export type IdentifyRecording = Recording<IdentifyBody, IdentifyRequested>

/** How a server identifies a user: alone or in a batch. */
export function createIdentifyRecording(admit: AdmitIdentify): IdentifyRecording {
  return {
    parse: ({ body }) => parseIdentifyBody(body),
    mayReact: () => false,
    admit,
    answer: (_request, { fact }) => answer(200, { message: 'ok', userId: fact.userId }),
  }
}

/** `POST /v2/admin/identify-user` (contract, Identify user). */
export function createIdentifyUser(recording: IdentifyRecording, recordRequest: RecordRequest): Route {
  return { ...ROUTES.identifyUser, handle: (request) => recordRequest(recording, request) }
}

export interface VisitParts {
  readonly admit: AdmitIdentify
  readonly recordRequest: RecordRequest
  readonly checkSignature: CheckSignature
  readonly countryOf: CountryOf
  readonly requestBudgetMs: number
  readonly log: RecordLog
  readonly logger: Logger
}

/** `POST /v2/sdk/identify-user`, the visit: brings back the form to show (decisions.md, Beyond the document). */
export function createVisit(parts: VisitParts): Route {
  const { admit, recordRequest, checkSignature, countryOf, requestBudgetMs, log, logger } = parts
  const recording: IdentifyRecording = {
    parse: (request) => {
      const parsed = parseIdentifyBody(request.body)
      if (parsed.outcome === 'rejected') return parsed
      if (!checkSignature(request.project, parsed.value)) return refuse(REFUSALS.signature)
      return { outcome: 'ok', value: withCallerCountry(parsed.value, request, countryOf) }
    },
    mayReact: ({ project }) => compileForms(project.config).reactsToVisits(),
    admit,
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
  async function confirm(fact: VisitAnswered, { traceparent }: CheckedRequest): Promise<void> {
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
    ...ROUTES.visit,
    repeatedContent: (body) =>
      body['repeatMayDiffer'] === true ? JSON.stringify(memberOf(body, 'userName')) : undefined,
    handle: async (request) => {
      const result = await recordRequest(recording, request)
      if (result.outcome === 'refused' || !result.confirms) return result
      const { confirms } = result
      return { ...result, afterwards: () => confirm(confirms, request) }
    },
  }
}

/** Its id is the same for each answer that hands out this row to this visit. */
function confirmationOf(visit: IdentifyRequested, offer: NonNullable<VisitReply['offer']>): VisitAnswered {
  const { id: visitId, organization, project, userId, received } = visit
  const id = uuidV5(offer.queuedId, visitId)
  return { type: 'VisitAnswered', id, organization, project, userId, received, visitId, ...offer }
}
