import type { EventTracked } from '@nextvisit/contracts'
import { compileForms, parseTrackBody, type TrackBody } from '@nextvisit/domain'
import type { AdmitEvent } from '../../admission/admit-event.ts'
import { type AwaitedReply, defineKind } from '../stages.ts'
import { answer, type Answer } from '../../http/route.ts'

/** Creates the tracked event: by either kind of key, alone or in a batch (contract, Track event). */
export function createTrackKind(admit: AdmitEvent) {
  return defineKind<TrackBody, EventTracked>({
    identifies: false,
    parse: ({ body, request }) => parseTrackBody(body, request.receivedMs),
    admit,
    mayReact: ({ evaluateTriggers, slug }, { config }) => evaluateTriggers && compileForms(config).reactsTo(slug),
    answer: trackAnswer,
  })
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
