import type { UnfinishedErasure, UnhealthyEndpoint } from '@nextvisit/contracts'
import type { Answer } from '../api-routes.ts'
import type { CounterKind } from '../metrics/read-process.ts'
import { bucketsOf, quantileMs, type Sample, secondsOf, totalOf, totalsOf } from '../metrics/sample.ts'
import type { SamplerState } from '../metrics/sampler.ts'
import type { LastAnswer, ServiceReading } from '../metrics/service-readings.ts'
import type { ReachedLimit } from '../registry/reached-limits.ts'
import type { ServiceState } from './api.ts'
import { findingsOf } from './findings.ts'

const NOW_MS = 60_000
const RECENT_MS = 5 * 60_000
/** Slightly less than the sampler keeps. */
const WHOLE_HOUR_MS = 59 * 60_000

/** Figures that the charts show over time. */
type Trend = Pick<Answer<'readOverview'>['now'], Exclude<keyof Answer<'readOverview'>['history'], 'at' | 'lagSeconds'>>

interface OverviewParts extends SamplerState {
  /** Number of partitions of the topics keyed by user. */
  readonly partitionCount: number
  /** Reached limits, as far as known. */
  readonly reached: readonly ReachedLimit[]
  /** Erasures that are not complete, as far as known. */
  readonly erasures: readonly UnfinishedErasure[]
  /** Webhook endpoints that need attention, as far as known. */
  readonly endpoints: readonly UnhealthyEndpoint[]
  /** Number of processes in the groups of consumers, if it may explain partitions without a known owner. */
  readonly members: ReadonlyMap<string, number>
  readonly nowMs: number
}

/** Builds the Overview: figures of the last minute and the last hour, and findings in words. */
export function overviewOf(parts: OverviewParts): Answer<'readOverview'> {
  const { samples, services: readings, lastAnswers, nowMs } = parts
  const latest = samples.at(-1)
  const since = (ms: number) => samples.filter(({ atMs, seconds }) => seconds > 0 && atMs > nowMs - ms)
  const [lastMinute, recent] = [since(NOW_MS), since(RECENT_MS)]
  const services = readings.map((reading) => stateOf(reading, lastAnswers.get(reading.service)))
  const countedSince = countedSinceOf(samples, nowMs)
  const deadLetters = readings.flatMap((reading) => reading.deadLetters ?? [])
  return {
    at: new Date(nowMs).toISOString(),
    sampledAt: latest ? new Date(latest.atMs).toISOString() : null,
    countedSince,
    findings: latest ? [...findingsOf({ ...parts, recent, isWholeHour: countedSince === null })] : [],
    services,
    now: {
      ...trendOf(lastMinute),
      answersPerSecond: perSecond(lastMinute, totalOf(lastMinute, 'answer')),
      refusalsPerMinute: perSecond(lastMinute, totalOf(lastMinute, 'refusal') * 60),
      uncheckedPerMinute: perSecond(lastMinute, totalOf(lastMinute, 'unchecked') * 60),
      deadLetters: deadLetters.length === 0 ? null : deadLetters.reduce((sum, count) => sum + count, 0),
    },
    answers: countsOf(samples, recent, 'answer'),
    refusals: countsOf(samples, recent, 'refusal'),
    unchecked: countsOf(samples, recent, 'unchecked'),
    history: historyOf(
      samples,
      readings.filter(({ isConsumer }) => isConsumer).map(({ service }) => service),
    ),
  }
}

/** Drops the members that only findings need. */
function stateOf(reading: ServiceReading, lastAnswer: LastAnswer | undefined): ServiceState {
  const { service, isConsumer, processes, answering, silentProcesses, lagSeconds, lagRecords } = reading
  const { deadLetters, outboxSeconds, haltedPartitions } = reading
  return {
    service,
    isConsumer,
    asOf: lastAnswer ? new Date(lastAnswer.atMs).toISOString() : null,
    processes,
    answering,
    silentProcesses: [...silentProcesses],
    silence: answering > 0 ? null : silenceOf(lastAnswer, isConsumer),
    lagSeconds,
    lagRecords,
    deadLetters,
    outboxSeconds,
    haltedPartitions: [...haltedPartitions],
  }
}

function silenceOf(lastAnswer: LastAnswer | undefined, isConsumer: boolean): ServiceState['silence'] {
  return { recordsWaiting: lastAnswer && isConsumer ? lastAnswer.lagRecords + lastAnswer.recordedSince : null }
}

/** Returns null if samples cover the whole hour. */
function countedSinceOf([first]: readonly Sample[], nowMs: number): string | null {
  return first && first.atMs > nowMs - WHOLE_HOUR_MS ? new Date(first.atMs).toISOString() : null
}

/** Counts answers with a status of this class. */
function answersOf(samples: readonly Sample[], statusClass: string): number {
  const counts = [...totalsOf(samples, 'answer')].filter(([status]) => status.startsWith(statusClass))
  return counts.reduce((sum, [, count]) => sum + count, 0)
}

function trendOf(samples: readonly Sample[]): Trend {
  const records = totalsOf(samples, 'record')
  const buckets = bucketsOf(samples)
  return {
    eventsPerSecond: perSecond(samples, records.get('EventTracked')),
    identifiesPerSecond: perSecond(samples, records.get('IdentifyRequested')),
    okPerSecond: perSecond(samples, answersOf(samples, '2')),
    refusedPerSecond: perSecond(samples, answersOf(samples, '4')),
    failedPerSecond: perSecond(samples, answersOf(samples, '5')),
    p50Ms: rounded(quantileMs(buckets, 0.5)),
    p99Ms: rounded(quantileMs(buckets, 0.99)),
  }
}

/** Returns null before the second sample. */
function perSecond(samples: readonly Sample[], total = 0): number | null {
  const seconds = secondsOf(samples)
  return seconds === 0 ? null : rounded(total / seconds)
}

function rounded(value: number): number
function rounded(value: number | null): number | null
function rounded(value: number | null): number | null {
  return value === null ? null : Number(value.toPrecision(4))
}

/** Lists counts, most frequent first. */
function countsOf(
  samples: readonly Sample[],
  recent: readonly Sample[],
  kind: CounterKind,
): Answer<'readOverview'>['answers'] {
  const lastMinutes = totalsOf(recent, kind)
  return Array.from(totalsOf(samples, kind), ([name, lastHour]) => ({
    name,
    lastMinutes: lastMinutes.get(name) ?? 0,
    lastHour,
  })).toSorted((one, other) => other.lastHour - one.lastHour)
}

function historyOf(samples: readonly Sample[], consumers: readonly string[]): Answer<'readOverview'>['history'] {
  const shown = samples.filter(({ seconds }) => seconds > 0)
  const trends = shown.map((sample) => trendOf([sample]))
  const column = (name: keyof Trend) => trends.map((trend) => trend[name])
  return {
    at: shown.map(({ atMs }) => Math.round(atMs / 1_000)),
    eventsPerSecond: column('eventsPerSecond'),
    identifiesPerSecond: column('identifiesPerSecond'),
    okPerSecond: column('okPerSecond'),
    refusedPerSecond: column('refusedPerSecond'),
    failedPerSecond: column('failedPerSecond'),
    p50Ms: column('p50Ms'),
    p99Ms: column('p99Ms'),
    lagSeconds: Object.fromEntries(
      consumers.map((service) => [service, shown.map(({ lagSeconds }) => rounded(lagSeconds.get(service) ?? null))]),
    ),
  }
}
