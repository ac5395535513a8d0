import type { EventTracked, KeyKind } from '@nextvisit/contracts'
import { compileForms, parseTrackBody, type TrackBody } from '@nextvisit/domain'
import { type Answer, answer, REFUSALS, refuse, ROUTES } from '@nextvisit/public-api'
import type { AdmitEvent } from '../admission/admit-event.ts'
import type { Recorded, Recording } from './prepare-record.ts'
import type { RecordRequest } from './record-request.ts'
import type { Route } from '../request/route.ts'
import type { CheckSignature } from './user-signature.ts'

export type TrackRecording = Recording<TrackBody, EventTracked>

/** How an event is tracked with this kind of key: alone or in a batch. */
export function createTrackRecording(
  keyKind: KeyKind,
  admit: AdmitEvent,
  checkSignature: CheckSignature,
): TrackRecording {
  return {
    parse: ({ project, body, receivedMs }) => {
      const parsed = parseTrackBody(body, receivedMs)
      if (parsed.outcome === 'rejected' || keyKind === 'admin') return parsed
      return checkSignature(project, parsed.value) ? parsed : refuse(REFUSALS.signature)
    },
    mayReact: ({ project }, body) => body.evaluateTriggers && compileForms(project.config).reactsTo(body.slug),
    admit,
    answer: (_request, recorded) => trackAnswer(recorded),
  }
}

/** `POST /v2/admin/track-event` (contract, Track event) and its twin for SDK keys (decisions.md, Beyond the document). */
export function createTrackEvent(keyKind: KeyKind, recording: TrackRecording, recordRequest: RecordRequest): Route {
  const signature = keyKind === 'admin' ? ROUTES.trackEvent : ROUTES.trackSdkEvent
  return { ...signature, handle: (request) => recordRequest(recording, request) }
}

function trackAnswer({ fact, reply }: Recorded<EventTracked>): Answer {
  const isEvaluated = reply === 'none' || (reply !== 'later' && reply.kind === 'track')
  const formsQueued = typeof reply === 'object' && reply.kind === 'track' ? reply.formsQueued : 0
  return answer(202, {
    requestId: fact.id,
    occurredAt: fact.occurredAt,
    newEvent: fact.newEvent,
    // The event is safe in the log. That triggers were not evaluated is true at this moment.
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
