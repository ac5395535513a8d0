import { expect } from 'vitest'
import { errorOf } from './call.ts'
import { type Case, casesOf, rowsOf } from './describe-cases.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** Time in ms that a request may take without crossing the tested boundary. */
export const SLACK_MS = 5_000
const OLD = 'Event recorded. It is older than 15 minutes, so form triggers were not evaluated.'

const at = (occurredAt: unknown) => ({ userName: 'tracked', eventName: 'timed', occurredAt })
/** Returns a time this long before the request. */
const ago = (ms: number) => () => at(new Date(Date.now() - ms).toISOString())
const refused = { expected: errorOf(400, expect.stringContaining('occurredAt')) }

const today = new Date(Date.now() - 2 * MINUTE_MS).toISOString()
const minute = today.slice(0, 16)
const second = today.slice(0, 19)
const shifted = (minutes: number) => new Date(Date.parse(`${second}Z`) + minutes * MINUTE_MS).toISOString().slice(0, 19)

const FORMATS = [
  ['seconds and Z', `${second}Z`, `${second}.000Z`],
  ['no seconds', `${minute}Z`, `${minute}:00.000Z`],
  ['a fraction of one digit', `${second}.5Z`, `${second}.500Z`],
  ['milliseconds', `${second}.123Z`, `${second}.123Z`],
  ['more than milliseconds: truncated to milliseconds', `${second}.123999Z`, `${second}.123Z`],
  ['+hh:mm', `${shifted(120)}+02:00`, `${second}.000Z`],
  ['-hh:mm', `${shifted(-330)}-05:30`, `${second}.000Z`],
  ['+hhmm', `${shifted(345)}+0545`, `${second}.000Z`],
  ['+00:00', `${second}+00:00`, `${second}.000Z`],
  ['no seconds, with an offset', `${shifted(60).slice(0, 16)}+01:00`, `${minute}:00.000Z`],
] as const

const NO_FORMATS = [
  ['no time zone', second],
  ['only a date', today.slice(0, 10)],
  ['a date and Z', `${today.slice(0, 10)}Z`],
  ['a space instead of T', `${second.replace('T', ' ')}Z`],
  ['only hours', `${today.slice(0, 13)}Z`],
  ['an offset with only hours', `${second}+01`],
  ['an offset without a sign', `${second}01:00`],
  ['a zone name', `${second} Europe/Berlin`],
  ['RFC 2822', new Date().toUTCString()],
  ['an empty fraction', `${second}.Z`],
  ['month 13', '2026-13-01T00:00:00Z'],
  ['the 31st of a short month', `${today.slice(0, 4)}-06-31T00:00:00Z`],
  ['the 30th of February', `${today.slice(0, 4)}-02-30T00:00:00Z`],
  ['hour 25', `${today.slice(0, 10)}T25:00:00Z`],
  ['minute 60', `${today.slice(0, 10)}T00:60:00Z`],
  ['second 61', `${today.slice(0, 10)}T00:00:61Z`],
  ['a basic format', `${second.replaceAll(/[-:]/g, '')}Z`],
  ['white space before', ` ${second}Z`],
  ['white space after', `${second}Z `],
  ['milliseconds since 1970 as text', String(Date.now())],
  ['empty', ''],
  ['now', 'now'],
  ['a week', '2026-W01-1T00:00:00Z'],
  ['a year of six digits', `+00${second}Z`],
] as const

const AGES = [
  ['4:59 in the future', -5 * MINUTE_MS + 1_000, 202],
  ['5:00 in the future, less at its arrival', -5 * MINUTE_MS, 202],
  ['5:00 plus the request time in the future', -5 * MINUTE_MS - SLACK_MS, 400],
  ['a day in the future', -DAY_MS, 400],
  ['364 days back', 364 * DAY_MS, 202],
  ['365 days back, minus the request time', 365 * DAY_MS - SLACK_MS, 202],
  ['365 days and 1 ms back, more at its arrival', 365 * DAY_MS + 1, 400],
  ['366 days back', 366 * DAY_MS, 400],
] as const

/** Times that are far away, and the limit that they break. */
const FAR = [
  ['the year 1, which is no time in .NET and Go', '0001-01-01T00:00:00Z', '365 days in the past'],
  ['the year 0', '0000-01-01T00:00:00Z', '365 days in the past'],
  ['a negative year', '-000001-01-01T00:00:00Z', '365 days in the past'],
  ['the epoch', '1970-01-01T00:00:00Z', '365 days in the past'],
  ['the year 9999', '9999-12-31T23:59:59.9999999Z', '5 minutes in the future'],
  ['a year of five digits', '+010000-01-01T00:00:00Z', '5 minutes in the future'],
  ['24:00', `${today.slice(0, 10)}T24:00:00Z`, 'ISO 8601'],
  ['a leap second', '2016-12-31T23:59:60Z', 'ISO 8601'],
  ['the zero date of MySQL', '0000-00-00T00:00:00Z', 'ISO 8601'],
] as const

const TRIGGERS = [
  ['15:00 minus the request time', 15 * MINUTE_MS - SLACK_MS, true, 'Event recorded.'],
  ['in the future', -4 * MINUTE_MS, true, 'Event recorded.'],
  ['15:00.001', 15 * MINUTE_MS + 1, false, OLD],
  ['a day', DAY_MS, false, OLD],
] as const

/** Rules of `occurredAt` with their cases (decisions.md, Track event). */
export const OCCURRED_AT: readonly (readonly [title: string, cases: readonly Case[]])[] = [
  [
    'occurredAt: ISO 8601 with a time zone, answered as UTC with milliseconds',
    [
      ...FORMATS.flatMap(([name, text, occurredAt]) =>
        casesOf('track', [[name, text]], at, { expected: { status: 202, body: { occurredAt } } }),
      ),
      ...casesOf('track', NO_FORMATS, at, refused),
      ...casesOf('track', rowsOf([0, 1, Date.now(), true, false, {}, [], [`${second}Z`]]), at, refused),
    ],
  ],
  [
    'occurredAt: no more than 5 minutes in the future and 365 days in the past',
    [
      ...AGES.flatMap(([name, ageMs, status]) =>
        casesOf('track', [[name, ageMs]], ago, { expected: { status, body: {} } }),
      ),
      ...FAR.flatMap(([name, text, message]) =>
        casesOf('track', [[name, text]], at, { expected: errorOf(400, expect.stringContaining(message)) }),
      ),
    ],
  ],
  [
    'older than 15 minutes: triggersEvaluated is false',
    TRIGGERS.flatMap(([name, ageMs, triggersEvaluated, message]) =>
      casesOf('track', [[name, ageMs]], ago, {
        expected: { status: 202, body: { triggersEvaluated, formsQueued: 0, message } },
      }),
    ),
  ],
]
