import { setTimeout as sleep } from 'node:timers/promises'
import { type ProcessReading, readProcess } from './read-process.ts'
import { increasesOf, type Sample, type Target } from './sample.ts'
import { type LastAnswer, lastAnswerAfter, type ServiceReading, serviceReadings } from './service-readings.ts'

/** Samples, and the state of the services. */
export interface SamplerState {
  /** Samples of the last hour, oldest first. */
  readonly samples: readonly Sample[]
  /** State at the last sample; empty before the first. */
  readonly services: readonly ServiceReading[]
  /** By service. */
  readonly lastAnswers: ReadonlyMap<string, LastAnswer>
}

interface SamplerOptions {
  readonly targets: readonly Target[]
  /** Reads the metrics of a process as text. Rejects if it does not answer. */
  readonly scrape: (url: string) => Promise<string>
  readonly nowMs: () => number
}

const WATCHED_EVERY_MS = 5_000
const UNWATCHED_EVERY_MS = 15_000
/** Samples are frequent this long after the last read. A page reads every few seconds. */
const WATCHED_MS = 20_000
const KEPT_MS = 3_600_000

/** Reads the metrics of every process periodically, and keeps the last hour in memory. */
export function createSampler({ targets, scrape, nowMs }: SamplerOptions) {
  const samples: Sample[] = []
  const lastCounters = new Map<string, ReadonlyMap<string, number>>()
  const lastAnswers = new Map<string, LastAnswer>()
  const stopping = new AbortController()
  let services: readonly ServiceReading[] = []
  let readAtMs = -Infinity
  /** Ends the pause between two samples. */
  let pause = new AbortController()
  let running: Promise<void> = Promise.resolve()

  async function takeSample(): Promise<void> {
    const answers = await Promise.all(
      targets.map(async ({ url }) => [url, await scrape(url).then(readProcess, () => undefined)] as const),
    )
    const atMs = nowMs()
    const before = samples.at(-1)
    const increases = new Map<string, number>()
    const readings = new Map<string, ProcessReading>()
    for (const [url, reading] of answers) {
      if (!reading) continue
      readings.set(url, reading)
      for (const [key, increase] of increasesOf(lastCounters.get(url), reading.counters))
        increases.set(key, (increases.get(key) ?? 0) + increase)
      lastCounters.set(url, reading.counters)
    }
    services = serviceReadings(targets, readings)
    const lagSeconds = new Map(
      services.filter(({ isConsumer }) => isConsumer).map((one) => [one.service, one.lagSeconds]),
    )
    const sample = { atMs, seconds: before ? (atMs - before.atMs) / 1_000 : 0, increases, lagSeconds }
    samples.push(sample)
    for (const reading of services) {
      const lastAnswer = lastAnswerAfter(lastAnswers.get(reading.service), reading, sample)
      if (lastAnswer) lastAnswers.set(reading.service, lastAnswer)
    }
    while ((samples[0]?.atMs ?? atMs) < atMs - KEPT_MS) samples.shift()
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await takeSample()
      const isWatched = nowMs() - readAtMs < WATCHED_MS
      pause = new AbortController()
      const signal = AbortSignal.any([stopping.signal, pause.signal])
      await sleep(isWatched ? WATCHED_EVERY_MS : UNWATCHED_EVERY_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  return {
    start: (): Promise<void> => {
      running = run()
      return Promise.resolve()
    },
    stop: async (): Promise<void> => {
      stopping.abort()
      await running
    },
    /** Returns the samples. For a while after each call they are more frequent. */
    read: (): SamplerState => {
      const wasWatched = nowMs() - readAtMs < WATCHED_MS
      readAtMs = nowMs()
      const isOld = nowMs() - (samples.at(-1)?.atMs ?? 0) > WATCHED_EVERY_MS
      if (!wasWatched && isOld) pause.abort()
      return { samples, services, lastAnswers }
    },
  }
}
