import { Instant, projectFields, SlugId, Uuid } from '@nextvisit/contracts'
import { z } from 'zod'
import { defineRoute, Nothing } from '../http/define-route.ts'

/** A screen with details of a finding. A project is `organization/project`. */
const FindingLink = z.discriminatedUnion('screen', [
  z.strictObject({ screen: z.literal('operations'), consumer: z.string() }),
  z.strictObject({ screen: z.literal('catalog') }),
  z.strictObject({ screen: z.literal('registry'), project: z.string() }),
  z.strictObject({ screen: z.literal('erasure'), ...projectFields, erasureId: Uuid }),
  z.strictObject({ screen: z.literal('webhook'), ...projectFields, endpointId: SlugId }),
  /** Live, filtered by refusals; null: of all projects. */
  z.strictObject({ screen: z.literal('refusals'), project: z.string().nullable() }),
])
export type FindingLink = z.infer<typeof FindingLink>

const Finding = z.strictObject({
  severity: z.enum(['critical', 'warning']),
  text: z.string(),
  /** Time of the figures in `text`, if they are older than the last sample. */
  asOf: Instant.nullable(),
  /** A page of docs/runbooks. */
  runbook: z.string().nullable(),
  links: z.array(FindingLink),
})
export type Finding = z.infer<typeof Finding>

/** The state of a service's processes, as their last answers report it. */
const ServiceState = z.strictObject({
  service: z.string(),
  isConsumer: z.boolean(),
  /** Time of the figures: the last answer of one of its processes. null: none since the console started. */
  asOf: Instant.nullable(),
  /** Number of configured processes, and of those that answered. */
  processes: z.number().int(),
  answering: z.number().int(),
  /** The other processes, as `host:port`. */
  silentProcesses: z.array(z.string()),
  /** Set while no process answers: an estimate of the records that wait, from the last answer and the records since. */
  silence: z.strictObject({ recordsWaiting: z.number().nullable() }).nullable(),
  /** Lag of a consumer; null: no process answers, or the metric is missing. */
  lagSeconds: z.number().nullable(),
  lagRecords: z.number().nullable(),
  deadLetters: z.number().nullable(),
  outboxSeconds: z.number().nullable(),
  haltedPartitions: z.array(z.number().int()),
})
export type ServiceState = z.infer<typeof ServiceState>

const count = z.strictObject({ name: z.string(), lastMinutes: z.number(), lastHour: z.number() })
const figure = z.number().nullable()
const series = z.array(figure)

export const overviewApi = {
  readOverview: defineRoute({
    role: 'viewer',
    input: Nothing,
    answer: z.strictObject({
      at: Instant,
      /** Time of the last sample; null: none yet. */
      sampledAt: Instant.nullable(),
      /** Start of the hourly counts: the start of the console. null: a whole hour ago. */
      countedSince: Instant.nullable(),
      findings: z.array(Finding),
      services: z.array(ServiceState),
      /** Figures of the last minute; null: not enough samples. */
      now: z.strictObject({
        eventsPerSecond: figure,
        identifiesPerSecond: figure,
        answersPerSecond: figure,
        okPerSecond: figure,
        refusedPerSecond: figure,
        failedPerSecond: figure,
        p50Ms: figure,
        p99Ms: figure,
        refusalsPerMinute: figure,
        uncheckedPerMinute: figure,
        deadLetters: figure,
      }),
      /** `lastMinutes` of a count covers five minutes. */
      answers: z.array(count),
      refusals: z.array(count),
      unchecked: z.array(count),
      /** The last hour as one column for each figure of `now`. `at`: seconds since the epoch. */
      history: z.strictObject({
        at: z.array(z.number()),
        eventsPerSecond: series,
        identifiesPerSecond: series,
        okPerSecond: series,
        refusedPerSecond: series,
        failedPerSecond: series,
        p50Ms: series,
        p99Ms: series,
        /** By consumer. */
        lagSeconds: z.record(z.string(), series),
      }),
    }),
  }),
}
