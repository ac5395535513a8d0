import type { DocumentedRefusal, Operation } from './operation.ts'
import { refusal } from './refusals.ts'

const REQUEST_ID = '019aa5b2-7c1e-7d3a-9f60-2b4c8e1d5a77'
const OCCURRED_AT = '2026-11-02T10:00:00.000Z'

const TRACK_REFUSALS: readonly DocumentedRefusal[] = [
  refusal(400, 'userName', 'A userName that is missing or empty', 'userName must be a string that is not empty'),
  refusal(400, 'longUserName', 'More than 255 characters', 'userName must be at most 255 characters long'),
  refusal(
    400,
    'eventName',
    'An eventName that is missing or too long',
    'eventName must be a string of 1 to 100 characters',
  ),
  refusal(
    400,
    'systemEvent',
    'The name of a system event',
    'eventName must not begin with form: (names of system events)',
  ),
  refusal(400, 'emptySlug', 'A name without a letter or digit', 'eventName must hold at least one letter or digit'),
  refusal(400, 'occurredAtType', 'An occurredAt that is no string', 'occurredAt must be a string'),
  refusal(
    400,
    'occurredAt',
    'No date and time, or none with a time zone',
    'occurredAt must be an ISO 8601 date and time with a time zone, such as 2026-01-31T09:30:00Z',
  ),
  refusal(400, 'ahead', 'Too far ahead', 'occurredAt must be no more than 5 minutes in the future'),
  refusal(400, 'past', 'Too long ago', 'occurredAt must be no more than 365 days in the past'),
  refusal(404, 'user', 'A user that was never identified', 'User not found'),
  refusal(
    400,
    'disabled',
    'An event that is marked disabled',
    'eventName names an event that is disabled in this project',
  ),
  refusal(
    402,
    'eventLimit',
    "The organization's events of the month, environment P",
    'Event tracking limit reached for this organization',
  ),
  refusal(
    400,
    'uniqueEvents',
    "A new name over the plan's cap, environment P",
    'Unique tracked events limit reached for your plan',
  ),
]

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
  body: {
    schema: 'TrackEventBody',
    examples: {
      now: { when: 'Just now', value: { userName: 'ada@example.com', eventName: 'Checkout Completed' } },
      dated: {
        when: 'At a time',
        value: {
          userName: 'ada@example.com',
          eventName: 'Checkout Completed',
          occurredAt: '2026-11-02T11:00:00+01:00',
        },
      },
    },
  },
  answers: [
    {
      status: 202,
      description: 'The event is in the log.',
      schema: 'TrackEventAnswer',
      examples: {
        recorded: { when: 'No form reacted', value: answerWith({ newEvent: true, message: 'Event recorded.' }) },
        queued: {
          when: 'Two forms were queued',
          value: answerWith({
            formsQueued: 2,
            message: "Event recorded. 2 forms queued for the user's next visit.",
          }),
        },
        old: {
          when: 'Older than 15 minutes',
          value: answerWith({
            triggersEvaluated: false,
            message: 'Event recorded. It is older than 15 minutes, so form triggers were not evaluated.',
          }),
        },
        later: {
          when: 'Evaluated later',
          value: answerWith({
            triggersEvaluated: false,
            message: 'Event recorded. Form triggers are evaluated later.',
          }),
        },
      },
    },
  ],
  refusals: TRACK_REFUSALS,
}

export const trackSdkEvent: Operation = {
  ...trackEvent,
  tag: 'SDK',
  summary: 'Track an event from a page or an app',
  description: `Records one event of a user, who is seen by it. Metered as from a server.

${EVENT_RULES}

An event that is new is registered where the project lets clients create events, else it is refused with 400.`,
  refusals: [
    ...TRACK_REFUSALS,
    refusal(
      400,
      'newEvent',
      'A new name, where clients create none',
      'eventName must name an event that this project knows: clients do not create new ones',
    ),
  ],
}

function answerWith(special: object): object {
  return {
    requestId: REQUEST_ID,
    occurredAt: OCCURRED_AT,
    newEvent: false,
    triggersEvaluated: true,
    formsQueued: 0,
    ...special,
  }
}
