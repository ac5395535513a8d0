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
  /** Returns the processes that exist now. */
  readonly readTargets: () => Promise<readonly Target[]>
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
export function createSampler({ readTargets, scrape, nowMs }: SamplerOptions) {
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
    const targets = await readTargets()
    const readings = await scrapeAll(targets, scrape)
    const atMs = nowMs()
    const before = samples.at(-1)
    const increases = sumIncreases(readings, lastCounters)
    const urls = new Set(targets.map(({ url }) => url))
    for (const url of lastCounters.keys()) if (!urls.has(url)) lastCounters.delete(url)
    for (const [url, { counters }] of readings) lastCounters.set(url, counters)
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

/** Reads every process, by its address. Those that do not answer are missing. */
async function scrapeAll(
  targets: readonly Target[],
  scrape: SamplerOptions['scrape'],
): Promise<ReadonlyMap<string, ProcessReading>> {
  const answers = await Promise.all(
    targets.map(async ({ url }) => [url, await scrape(url).then(readProcess, () => undefined)] as const),
  )
  return new Map(answers.flatMap(([url, reading]) => (reading ? [[url, reading] as const] : [])))
}

/** Adds up the increases of each counter since the last reading of each process. */
function sumIncreases(
  readings: ReadonlyMap<string, ProcessReading>,
  lastCounters: ReadonlyMap<string, ReadonlyMap<string, number>>,
): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  for (const [url, { counters }] of readings) {
    for (const [key, increase] of increasesOf(lastCounters.get(url), counters))
      sums.set(key, (sums.get(key) ?? 0) + increase)
  }
  return sums
}
