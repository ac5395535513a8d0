import type { ProcessReading } from '../src/metrics/read-process.ts'
import type { Sample } from '../src/metrics/sample.ts'
import { type ServiceReading, serviceReadings } from '../src/metrics/service-readings.ts'

export const PARTITIONS = 2

/** Creates the reading of a consumer's process that owns both partitions and does not lag. */
export function consumerReading(own: Partial<ProcessReading> = {}): ProcessReading {
  const idle = { lagSeconds: 0, lagRecords: 0, isHalted: false, stalledSeconds: 0, ticksFailingSeconds: 0 }
  return {
    counters: new Map(),
    partitions: new Map([
      [0, idle],
      [1, idle],
    ]),
    deadLetters: 0,
    outboxSeconds: 0,
    catalogProblems: 0,
    undecryptableSecrets: new Map(),
    openBreakers: [],
    ...own,
  }
}

/** Creates a service with these processes; undefined: a silent one. */
export function givenService(service: string, processes: readonly (ProcessReading | undefined)[]): ServiceReading {
  const targets = processes.map((_, index) => ({ service, url: `http://${service}-${index}` }))
  const answers = targets.flatMap(({ url }, index) => {
    const reading = processes[index]
    return reading ? [[url, reading] as const] : []
  })
  const [reading] = serviceReadings(targets, new Map(answers))
  if (!reading) throw new RangeError('A service has one process or more')
  return reading
}

export function sampleOf(increases: Readonly<Record<string, number>>, own: Partial<Sample> = {}): Sample {
  return { atMs: 0, seconds: 5, increases: new Map(Object.entries(increases)), lagSeconds: new Map(), ...own }
}
