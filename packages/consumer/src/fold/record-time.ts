import type { FetchedRecord } from '@nextvisit/log'

const YEAR_10_000_MS = Date.UTC(10_000, 0)

/** Kafka's time of a record, ISO. A producer may give any number, or none: what is not an instant becomes 1970. */
export function recordTimeOf({ timestampMs }: FetchedRecord): string {
  const isInstant = timestampMs >= 0 && timestampMs < YEAR_10_000_MS
  return new Date(isInstant ? timestampMs : 0).toISOString()
}
