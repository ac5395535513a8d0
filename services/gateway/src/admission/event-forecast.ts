/** How far a forecast looks ahead. */
export const FORECAST_MS = 100
/** What is expected more rarely is forgotten. */
const FEWEST_EXPECTED = 0.1
/** A lease costs metering about as much as one reservation, so it pays from about two events on. */
const FEWEST_EVENTS_OF_LEASE = 1.5
/** Fewer events, of all leases of a question, are not worth a call. */
const FEWEST_EVENTS_OF_QUESTION = 8
/** Of one lease. */
const MOST_UNITS = 10_000

/** How many events of an organization are expected in {@link FORECAST_MS}, by partition. */
export type EventForecast = ReadonlyMap<number, number>

/**
 * Expects as many events as came lately, or half as many as were expected before if that is more. `events` came within
 * `countedMs`, by partition.
 */
export function forecastEvents(
  before: EventForecast,
  events: ReadonlyMap<number, number>,
  countedMs: number,
): EventForecast {
  const share = Math.min(1, FORECAST_MS / countedMs)
  const expect = (partition: number): number =>
    Math.max((events.get(partition) ?? 0) * share, (before.get(partition) ?? 0) / 2)
  const partitions = new Set([...events.keys(), ...before.keys()])
  const all = Array.from(partitions, (partition) => [partition, expect(partition)] as const)
  return new Map(all.filter(([, count]) => count > FEWEST_EXPECTED))
}

/**
 * How many units to lease, by partition: only where a lease saves work, so perhaps none. More than twice as many as events
 * are expected, because a lease lasts longer than the forecast, and events do not come evenly.
 */
export function unitsToLease(forecast: EventForecast): ReadonlyMap<number, number> {
  const worthLease = [...forecast].filter(([, events]) => events >= FEWEST_EVENTS_OF_LEASE)
  const total = worthLease.reduce((sum, [, events]) => sum + events, 0)
  if (total < FEWEST_EVENTS_OF_QUESTION) return new Map()
  return new Map(worthLease.map(([partition, events]) => [partition, Math.min(MOST_UNITS, Math.ceil(2 * events) + 2)]))
}
