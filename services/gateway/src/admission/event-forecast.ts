/** Period of a forecast in ms. */
export const FORECAST_MS = 100
/** Smaller expected numbers are dropped. */
const FEWEST_EXPECTED = 0.1
/** Fewest events per lease. A lease costs metering about as much as one reservation, so two events pay for it. */
const FEWEST_EVENTS_OF_LEASE = 1.5
/** Fewest events, over all leases of a question, that are worth a call. */
const FEWEST_EVENTS_OF_QUESTION = 8
/** Maximum units of a lease. */
const MOST_UNITS = 10_000

/**
 * Returns the expected events of an organization within {@link FORECAST_MS}, by partition: the recent rate, or half of
 * the previous forecast if that is more. `events` are the events within the last `countedMs`, by partition.
 */
export function forecastEvents(
  before: ReadonlyMap<number, number>,
  events: ReadonlyMap<number, number>,
  countedMs: number,
): ReadonlyMap<number, number> {
  const share = Math.min(1, FORECAST_MS / countedMs)
  const expect = (partition: number): number =>
    Math.max((events.get(partition) ?? 0) * share, (before.get(partition) ?? 0) / 2)
  const partitions = new Set([...events.keys(), ...before.keys()])
  const all = Array.from(partitions, (partition) => [partition, expect(partition)] as const)
  return new Map(all.filter(([, count]) => count > FEWEST_EXPECTED))
}

/** Creates a counter of an organization's events that forecasts the next ones. */
export function createEventForecast() {
  let events = new Map<number, number>()
  let forecast: ReadonlyMap<number, number> = new Map()
  let countedSince = performance.now()

  return {
    count: (partition: number): void => void events.set(partition, (events.get(partition) ?? 0) + 1),
    /** Forecasts from the events since the previous call. */
    next: (): ReadonlyMap<number, number> => {
      const now = performance.now()
      forecast = forecastEvents(forecast, events, now - countedSince)
      events = new Map()
      countedSince = now
      return forecast
    },
  }
}

/**
 * Returns the units to lease by partition: none where a lease saves no work. They exceed twice the expected events,
 * because a lease outlasts the forecast and events arrive unevenly.
 */
export function unitsToLease(forecast: ReadonlyMap<number, number>): ReadonlyMap<number, number> {
  const worthLease = [...forecast].filter(([, events]) => events >= FEWEST_EVENTS_OF_LEASE)
  const total = worthLease.reduce((sum, [, events]) => sum + events, 0)
  if (total < FEWEST_EVENTS_OF_QUESTION) return new Map()
  return new Map(worthLease.map(([partition, events]) => [partition, Math.min(MOST_UNITS, Math.ceil(2 * events) + 2)]))
}
