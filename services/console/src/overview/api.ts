import { Instant } from '@nextvisit/contracts'
import { z } from 'zod'

/** A screen that says more of a finding. A project is `organization/project`. */
export const FindingPlace = z.discriminatedUnion('screen', [
  z.strictObject({ screen: z.literal('operations'), consumer: z.string() }),
  z.strictObject({ screen: z.literal('catalog') }),
  z.strictObject({ screen: z.literal('registry'), project: z.string() }),
  /** Live, where only refusals are shown; null: of all projects. */
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

export const ServiceState = z.strictObject({
  service: z.string(),
  isConsumer: z.boolean(),
  /** Processes that are known by their addresses, and those that answered. */
  processes: z.number().int(),
  answering: z.number().int(),
  /** The others, as `host:port`. */
  silentProcesses: z.array(z.string()),
  /** Where no process answers: when one last did (null: not since the console was started), and about how many records wait since. */
  silence: z.strictObject({ lastAnsweredAt: Instant.nullable(), recordsWaiting: z.number().nullable() }).nullable(),
  /** Of a consumer; null: none of its processes answers, or the metric is not there. */
  lagSeconds: z.number().nullable(),
  lagRecords: z.number().nullable(),
  deadLetters: z.number().nullable(),
  outboxSeconds: z.number().nullable(),
  haltedPartitions: z.array(z.number().int()),
})
export type ServiceState = z.infer<typeof ServiceState>

const count = z.strictObject({ name: z.string(), lastMinutes: z.number(), lastHour: z.number() })

/** Figures of the last minute; null: there is nothing to compute them from. */
export const CurrentFigures = z.strictObject({
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
export type CurrentFigures = z.infer<typeof CurrentFigures>

const series = z.array(z.number().nullable())

export const OverviewAnswer = z.strictObject({
  at: Instant,
  /** When figures were read last; null: not yet. */
  sampledAt: Instant.nullable(),
  /** From here on figures of the last hour are counted: when the console was started. null: the whole hour. */
  countedSince: Instant.nullable(),
  findings: z.array(Finding),
  services: z.array(ServiceState),
  now: CurrentFigures,
  /** The counts of `lastMinutes` are of the last five minutes. */
  answers: z.array(count),
  refusals: z.array(count),
  unchecked: z.array(count),
  /** The last hour, a column for each figure. `at`: seconds since the epoch. */
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
