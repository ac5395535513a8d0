import type { CatalogProject } from '@nextvisit/catalog'
import type {
  AnswerGiven,
  AnswerStatus,
  DeliveredForm,
  EventTracked,
  IdentifyRequested,
  VisitAnswered,
} from '@nextvisit/contracts'
import {
  compileForms,
  type IdentifyBody,
  parseIdentifyBody,
  parseVisitBody,
  parseTrackBody,
  type TrackBody,
  uuidV5,
} from '@nextvisit/domain'
import type { AdmissionParts } from '../admission/admission.ts'
import { admitAnswer } from '../admission/admit-answer.ts'
import { admitEvent } from '../admission/admit-event.ts'
import { admitIdentify } from '../admission/admit-identify.ts'
import { type Answer, answer } from '../http/route.ts'
import { type CountryOf, withCallerCountry } from './caller-country.ts'
import type { FormDelivery } from './form-delivery.ts'
import type { CheckedAnswerBody, createReadAnswer } from '../admission/read-answer.ts'
import { type AwaitedReply, defineKind } from './stages.ts'

/** Creates the kinds of records that callers send. */
export function createKinds(
  admission: AdmissionParts,
  {
    countryOf,
    formOf,
    readAnswer,
  }: {
    readonly countryOf: CountryOf
    readonly formOf: FormDelivery['formOf']
    readonly readAnswer: ReturnType<typeof createReadAnswer>
  },
) {
  return {
    /** The identify of a server, alone or in a batch (contract, Identify user). */
    identify: defineKind<IdentifyBody, IdentifyRequested>({
      identifies: true,
      parse: ({ body }) => parseIdentifyBody(body),
      admit: (item) => admitIdentify(admission, item),
      mayReact: () => false,
      answer: ({ userId }) => answer(200, { message: 'ok', userId }),
    }),
    /** The identify of a page, which is answered with the form to show (decisions.md, Beyond the document). */
    visit: defineKind<IdentifyBody, IdentifyRequested>({
      identifies: true,
      // The address is read at once, since the socket of a caller who has left has none.
      parse: (request) => {
        const parsed = parseVisitBody(request.body)
        if (parsed.outcome !== 'ok') return parsed
        return { ...parsed, value: withCallerCountry(parsed.value, request, countryOf) }
      },
      admit: (item) => admitIdentify(admission, item),
      mayReact: (_fact, { config }) => compileForms(config).reactsToVisits(),
      answer: (fact, reply, project) => visitAnswer(fact, reply, { project, formOf }),
    }),
    /** The tracked event: by either kind of key, alone or in a batch (contract, Track event). */
    track: defineKind<TrackBody, EventTracked>({
      identifies: false,
      parse: ({ body, receivedMs }) => parseTrackBody(body, receivedMs),
      admit: (item, isIdentified) => admitEvent(admission, item, isIdentified),
      mayReact: ({ evaluateTriggers, slug }, { config }) => evaluateTriggers && compileForms(config).reactsTo(slug),
      answer: trackAnswer,
    }),
    /** The answer to a form: by either kind of key (forms.md, Answers). */
    answer: defineKind<CheckedAnswerBody, AnswerGiven>({
      identifies: false,
      parse: readAnswer,
      admit: (item) => admitAnswer(admission, item),
      mayReact: () => false,
      answer: ({ id: requestId, status }) => answer(202, { requestId, status, message: ANSWERED[status] }),
    }),
  }
}

const ANSWERED: Readonly<Record<AnswerStatus, string>> = {
  partial: 'Answers recorded.',
  finished: 'Answers recorded. The form is finished.',
  dismissed: 'Form dismissed.',
}

function visitAnswer(
  fact: IdentifyRequested,
  reply: AwaitedReply,
  { project, formOf }: { readonly project: CatalogProject; readonly formOf: FormDelivery['formOf'] },
): Answer {
  const { sdk } = project.config
  const visit = typeof reply === 'object' && reply.kind === 'visit' ? reply : undefined
  const offer = visit?.offer
  const answered = answer(200, {
    message: 'ok',
    userId: fact.userId,
    pingAgainIn: sdk.pingAgainInSeconds,
    pingOnNextPageVisit: sdk.pingOnNextPageVisit || visit?.moreWaiting === true,
    onPageDelay: sdk.onPageDelaySeconds,
    ...(offer && { nextFeedbackId: offer.formId }),
  })
  if (!offer) return answered
  const form = formOf(project, offer)
  return { ...answered, confirms: confirmationOf(fact, form), form }
}

/** Returns the confirmation of an offer. Every answer that offers this row to this visit has the same id. */
function confirmationOf(
  { id: visitId, organization, project, userId, received, environment }: IdentifyRequested,
  { offerId: queuedId, formId, revision, language }: DeliveredForm,
): VisitAnswered {
  return {
    type: 'VisitAnswered',
    id: uuidV5(queuedId, visitId),
    organization,
    project,
    userId,
    received,
    environment,
    visitId,
    queuedId,
    formId,
    ...(revision !== undefined && { revision }),
    ...(language !== undefined && { language }),
  }
}

function trackAnswer(fact: EventTracked, reply: AwaitedReply): Answer {
  const isEvaluated = reply === 'none' || (reply !== 'later' && reply.kind === 'track')
  const formsQueued = typeof reply === 'object' && reply.kind === 'track' ? reply.formsQueued : 0
  return answer(202, {
    requestId: fact.id,
    occurredAt: fact.occurredAt,
    newEvent: fact.newEvent,
    // The event is in the log. That its triggers were not evaluated is true at this moment.
    triggersEvaluated: isEvaluated && fact.evaluateTriggers,
    formsQueued,
    message: isEvaluated ? messageOf(fact, formsQueued) : 'Event recorded. Form triggers are evaluated later.',
  })
}

function messageOf({ evaluateTriggers }: EventTracked, formsQueued: number): string {
  if (!evaluateTriggers) return 'Event recorded. It is older than 15 minutes, so form triggers were not evaluated.'
  if (formsQueued === 0) return 'Event recorded.'
  return `Event recorded. ${formsQueued} form${formsQueued === 1 ? '' : 's'} queued for the user's next visit.`
}
