import type { EventTracked, KeyKind } from '@nextvisit/contracts'
import { compileForms, parseTrackBody, type TrackBody } from '@nextvisit/domain'
import type { AdmitEvent } from '../admission/admit-event.ts'
import type { AwaitReply } from '../await-reply.ts'
import type { AnswerOnce } from '../idempotency/answer-once.ts'
import type { Ingest } from '../ingest.ts'
import { type Refusal, refuseBody } from '../refusal.ts'
import { type Answer, answer, type CheckedRequest, type Route } from '../route.ts'
import { ROUTES } from '../route-table.ts'

export interface TrackEventParts {
  readonly admitEvent: AdmitEvent
  readonly ingest: Ingest
  readonly awaitReply: AwaitReply
  readonly answerOnce: AnswerOnce
}

/** `POST /v2/admin/track-event` (contract, Track event) and its twin for SDK keys (decisions.md, Beyond the document). */
export function createTrackEvent(
  keyKind: KeyKind,
  { admitEvent, ingest, awaitReply, answerOnce }: TrackEventParts,
): Route {
  async function record(request: CheckedRequest, body: TrackBody): Promise<Answer | Refusal> {
    const { result, reply } = await awaitReply(request, canSetOffForm(request, body), (replyTo) =>
      ingest(request, { userName: body.userName, admit: (place) => admitEvent(request, body, place), replyTo }),
    )
    if (result.outcome === 'refused') return result
    if (reply === 'none') return recorded(result.fact, 0)
    return reply !== 'later' && reply.kind === 'track'
      ? recorded(result.fact, reply.formsQueued)
      : evaluatedLater(result.fact)
  }

  return {
    ...(keyKind === 'admin' ? ROUTES.trackEvent : ROUTES.trackSdkEvent),
    handle: async (request) => {
      const parsed = parseTrackBody(request.body, request.receivedMs)
      if (parsed.outcome === 'rejected') return refuseBody(parsed)
      return answerOnce(request, () => record(request, parsed.value))
    },
  }
}

function canSetOffForm({ project }: CheckedRequest, body: TrackBody): boolean {
  return body.evaluateTriggers && compileForms(project.config).reactsTo(body.slug)
}

function recorded(fact: EventTracked, formsQueued: number): Answer {
  return trackAnswer(fact, fact.evaluateTriggers, formsQueued, messageOf(fact, formsQueued))
}

/** The event is safe in the log; that triggers were not evaluated is true at this moment. */
function evaluatedLater(fact: EventTracked): Answer {
  return trackAnswer(fact, false, 0, 'Event recorded. Form triggers are evaluated later.')
}

function messageOf(fact: EventTracked, formsQueued: number): string {
  if (!fact.evaluateTriggers) return 'Event recorded. It is older than 15 minutes, so form triggers were not evaluated.'
  if (formsQueued === 0) return 'Event recorded.'
  return `Event recorded. ${formsQueued} form${formsQueued === 1 ? '' : 's'} queued for the user's next visit.`
}

function trackAnswer(fact: EventTracked, triggersEvaluated: boolean, formsQueued: number, message: string): Answer {
  const { id: requestId, occurredAt, newEvent } = fact
  return answer(202, { requestId, occurredAt, newEvent, triggersEvaluated, formsQueued, message })
}
