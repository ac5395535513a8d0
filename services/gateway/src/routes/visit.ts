import type { IdentifyRequested, VisitAnswered, VisitReply } from '@nextvisit/contracts'
import { compileForms, type IdentifyBody, parseIdentifyBody, uuidV5 } from '@nextvisit/domain'
import type { AdmitIdentify } from '../admission/admit-identify.ts'
import type { RecordPlace } from '../admission/admission.ts'
import type { AwaitReply } from '../await-reply.ts'
import { REQUEST_BUDGET_MS } from '../budget.ts'
import type { CountryOf } from '../country-of.ts'
import type { AnswerOnce } from '../idempotency/answer-once.ts'
import type { Ingest } from '../ingest.ts'
import type { Logger } from '../logger.ts'
import type { RecordLog } from '../record-log.ts'
import { type Refusal, refuse, refuseBody } from '../refusal.ts'
import type { Answer, CheckedRequest, Route } from '../route.ts'
import { ROUTES } from '../route-table.ts'
import type { CheckSignature } from '../user-signature.ts'
import { withCallerCountry } from './with-caller-country.ts'

export interface VisitParts {
  readonly admitIdentify: AdmitIdentify
  readonly ingest: Ingest
  readonly awaitReply: AwaitReply
  readonly answerOnce: AnswerOnce
  readonly checkSignature: CheckSignature
  readonly countryOf: CountryOf
  readonly log: RecordLog
  readonly logger: Logger
}

/** `POST /v2/sdk/identify-user`, the visit: brings back the form to show (decisions.md, Beyond the document). */
export function createVisit(parts: VisitParts): Route {
  const { admitIdentify, ingest, awaitReply, answerOnce, checkSignature, countryOf } = parts

  async function record(request: CheckedRequest, body: IdentifyBody): Promise<Answer | Refusal> {
    const { config } = request.project
    const { result, reply } = await awaitReply(request, compileForms(config).reactsToVisits(), (replyTo) =>
      ingest(request, { userName: body.userName, admit: (place) => admitIdentify(request, body, place), replyTo }),
    )
    if (result.outcome === 'refused') return result
    const visit = typeof reply === 'object' && reply.kind === 'visit' ? reply : undefined
    const offer = visit?.offer
    return {
      outcome: 'answered',
      status: 200,
      body: {
        message: 'ok',
        userId: result.fact.userId,
        pingAgainIn: config.sdk.pingAgainInSeconds,
        pingOnNextPageVisit: config.sdk.pingOnNextPageVisit || visit?.moreWaiting === true,
        onPageDelay: config.sdk.onPageDelaySeconds,
        ...(offer && { nextFeedbackId: offer.formId }),
      },
      ...(offer && { afterwards: () => confirmOffer(parts, request, result, offer) }),
    }
  }

  return {
    ...ROUTES.visit,
    handle: async (request) => {
      const parsed = parseIdentifyBody(request.body)
      if (parsed.outcome === 'rejected') return refuseBody(parsed)
      const { value: body } = parsed
      if (!checkSignature(request.project, body))
        return refuse(401, 'userSignature must be the HMAC-SHA256 of userName, in hex')
      return answerOnce(request, () => record(request, withCallerCountry(body, request, countryOf)))
    },
  }
}

/** Makes the offered form delivered. What gets lost here is offered again (forms.md, The queue). */
async function confirmOffer(
  { log, logger }: VisitParts,
  { traceparent }: CheckedRequest,
  { fact: visit, place }: { readonly fact: IdentifyRequested; readonly place: RecordPlace },
  { queuedId, formId }: NonNullable<VisitReply['offer']>,
): Promise<void> {
  const { organization, project, userId, received } = visit
  const fact: VisitAnswered = {
    type: 'VisitAnswered',
    id: uuidV5(queuedId, visit.id),
    organization,
    project,
    userId,
    received,
    visitId: visit.id,
    formId,
    queuedId,
  }
  const deadlineAt = performance.now() + REQUEST_BUDGET_MS
  const published = await log.publish(fact, place, { deadlineAt, traceparent })
  if (published !== 'published')
    logger.warn({ requestId: visit.id, published }, 'A form was handed out but not confirmed: it may be shown again')
}
