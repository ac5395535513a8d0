import type { Zone } from './time.tsx'

const MINUTE_MS = 60_000

/** Converts the value of a `datetime-local` field, in the zone of the page, to an instant. */
export function instantOf(value: string, zone: Zone): string {
  return new Date(zone === 'utc' ? `${value}Z` : value).toISOString()
}

/** Converts an instant to the value of a `datetime-local` field, in whole seconds. */
export function fieldValueOf(at: string | number, zone: Zone): string {
  const date = new Date(at)
  const shownMs = zone === 'utc' ? date.getTime() : date.getTime() - date.getTimezoneOffset() * MINUTE_MS
  return new Date(shownMs).toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length)
}
