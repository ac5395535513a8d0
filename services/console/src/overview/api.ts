import { Instant } from '@nextvisit/contracts'
import { z } from 'zod'
import { type ApiTable, defineRoute, Nothing } from '../http/define-route.ts'
import { ServiceState } from '../metrics/service-state.ts'

/** A screen with details of a finding. A project is `organization/project`. */
export const FindingPlace = z.discriminatedUnion('screen', [
  z.strictObject({ screen: z.literal('operations'), consumer: z.string() }),
  z.strictObject({ screen: z.literal('catalog') }),
  z.strictObject({ screen: z.literal('registry'), project: z.string() }),
  /** Live, filtered by refusals; null: of all projects. */
  z.strictObject({ screen: z.literal('refusals'), project: z.string().nullable() }),
])
export type FindingPlace = z.infer<typeof FindingPlace>

export const Finding = z.strictObject({
  severity: z.enum(['critical', 'warning']),
  text: z.string(),
  /** A page of docs/runbooks. */
  runbook: z.string().nullable(),
  see: z.array(FindingPlace),
})
export type Finding = z.infer<typeof Finding>

const count = z.strictObject({ name: z.string(), lastMinutes: z.number(), lastHour: z.number() })

/** Figures of the last minute; null: not enough samples. */
const CurrentFigures = z.strictObject({
  eventsPerSecond: z.number().nullable(),
  identifiesPerSecond: z.number().nullable(),
  answersPerSecond: z.number().nullable(),
  okPerSecond: z.number().nullable(),
  refusedPerSecond: z.number().nullable(),
  failedPerSecond: z.number().nullable(),
  p50Ms: z.number().nullable(),
  p99Ms: z.number().nullable(),
  refusalsPerMinute: z.number().nullable(),
  uncheckedPerMinute: z.number().nullable(),
  deadLetters: z.number().nullable(),
})

const series = z.array(z.number().nullable())

export const OverviewAnswer = z.strictObject({
  at: Instant,
  /** Time of the last sample; null: none yet. */
  sampledAt: Instant.nullable(),
  /** Start of the hourly counts: the start of the console. null: a whole hour ago. */
  countedSince: Instant.nullable(),
  findings: z.array(Finding),
  services: z.array(ServiceState),
  now: CurrentFigures,
  /** `lastMinutes` of a count covers five minutes. */
  answers: z.array(count),
  refusals: z.array(count),
  unchecked: z.array(count),
  /** The last hour as one column for each figure. `at`: seconds since the epoch. */
  history: z.strictObject({
    at: z.array(z.number()),
    events: series,
    identifies: series,
    ok: series,
    refused: series,
    failed: series,
    p50Ms: series,
    p99Ms: series,
    /** By consumer. */
    lagSeconds: z.record(z.string(), series),
  }),
})
export type OverviewAnswer = z.infer<typeof OverviewAnswer>

export const overviewApi = {
  readOverview: defineRoute({ role: 'viewer', input: Nothing, answer: OverviewAnswer }),
} satisfies ApiTable
