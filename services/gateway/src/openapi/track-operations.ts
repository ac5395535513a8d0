import { TrackEventAnswer, TrackEventBody } from '@nextvisit/contracts'
import { BODY_RULES } from '@nextvisit/domain'
import { REFUSALS } from '../http/refusals.ts'
import { type DocumentedRefusals, json, type Operation, refusalsOf } from './operation.ts'

const { userName, longUserName, eventName, systemEvent, emptySlug } = BODY_RULES
const { occurredAtType, occurredAt, ahead, past } = BODY_RULES
const { user, disabled, eventLimit, uniqueEvents, newEvent } = REFUSALS
const TRACK_REFUSALS: DocumentedRefusals = {
  ...refusalsOf({ userName, longUserName, eventName, systemEvent, emptySlug }),
  ...refusalsOf({ occurredAtType, occurredAt, ahead, past }),
  user,
  disabled,
  eventLimit,
  uniqueEvents,
}

const EVENT_RULES = `The user must have been identified before. An event's identity is its slug: \`Checkout Completed\` and \`checkout_completed\` are one event. \`form:*\` names are reserved.

\`occurredAt\` is an ISO 8601 date and time with a time zone; at most 5 minutes ahead and at most 365 days back. An event older than 15 minutes counts, but sets off no form.

Policy, in this order: the user exists (404), the event is not disabled (400), the organization's events of the month (402), the plan's cap on unique events (400). The last two for keys of environment P only.

Forms that the event sets off are queued for the user's next visit; the answer counts them. Where their evaluation takes too long, the answer does not wait: \`triggersEvaluated\` is false, and they are evaluated later.`

export const trackEvent: Operation = {
  tag: 'Events',
  summary: 'Track an event',
  description: `Records one event of a user. It touches neither when the user was last seen nor the monthly active users.

${EVENT_RULES}

An event that is new is registered, also where clients may not create events.`,
  body: json(TrackEventBody, {
    now: { summary: 'Just now', value: { userName: 'ada@example.com', eventName: 'Checkout Completed' } },
    dated: {
      summary: 'At a time',
      value: {
        userName: 'ada@example.com',
        eventName: 'Checkout Completed',
        occurredAt: '2026-11-02T11:00:00+01:00',
      },
    },
  }),
  answer: {
    status: 202,
    description: 'The event is in the log.',
    content: json(TrackEventAnswer, {
      recorded: { summary: 'No form reacted', value: answerWith({ newEvent: true, message: 'Event recorded.' }) },
      queued: {
        summary: 'Two forms were queued',
        value: answerWith({ formsQueued: 2, message: "Event recorded. 2 forms queued for the user's next visit." }),
      },
      old: {
        summary: 'Older than 15 minutes',
        value: answerWith({
          triggersEvaluated: false,
          message: 'Event recorded. It is older than 15 minutes, so form triggers were not evaluated.',
        }),
      },
      later: {
        summary: 'Evaluated later',
        value: answerWith({ triggersEvaluated: false, message: 'Event recorded. Form triggers are evaluated later.' }),
      },
    }),
  },
  refusals: TRACK_REFUSALS,
}

export const trackSdkEvent: Operation = {
  ...trackEvent,
  tag: 'SDK',
  summary: 'Track an event from a page or an app',
  description: `Records one event of a user, who is seen by it. Metered as from a server.

${EVENT_RULES}

An event that is new is registered where the project lets clients create events, else it is refused with 400.`,
  refusals: { ...TRACK_REFUSALS, newEvent },
}

function answerWith(special: object): object {
  return {
    requestId: '019aa5b2-7c1e-7d3a-9f60-2b4c8e1d5a77',
    occurredAt: '2026-11-02T10:00:00.000Z',
    newEvent: false,
    triggersEvaluated: true,
    formsQueued: 0,
    ...special,
  }
}
