import { useSearch } from '@tanstack/react-router'

/** Times stand in the reader's zone, or in UTC; the address says which. */
export type Zone = 'local' | 'utc'

export function useZone(): Zone {
  const { tz } = useSearch({ strict: false })
  return tz === 'utc' ? 'utc' : 'local'
}

const FORMATS = new Map<string, Intl.DateTimeFormat>()

function formatOf(zone: Zone, withDate: boolean): Intl.DateTimeFormat {
  const key = `${zone}/${withDate}`
  const known = FORMATS.get(key)
  if (known) return known
  const made = new Intl.DateTimeFormat('sv-SE', {
    ...(zone === 'utc' && { timeZone: 'UTC' }),
    ...(withDate && { dateStyle: 'short' as const }),
    timeStyle: 'medium',
  })
  FORMATS.set(key, made)
  return made
}

/** `2026-11-23 04:05:06`, in a zone. */
export function timeText(at: string | number, zone: Zone, withDate = true): string {
  return formatOf(zone, withDate).format(new Date(at)) + (zone === 'utc' ? 'Z' : '')
}

/** A time in the chosen zone; the other one is its title. */
export function Time({ at, withDate = true }: { readonly at: string; readonly withDate?: boolean }) {
  const zone = useZone()
  const other = zone === 'utc' ? `${timeText(at, 'local')} local` : timeText(at, 'utc')
  return (
    <time dateTime={at} title={other} className="num">
      {timeText(at, zone, withDate)}
    </time>
  )
}
