import { useSearch } from '@tanstack/react-router'

/** Time zone of all times on a page: the reader's, or UTC. The address contains the choice. */
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

/** Formats a time as `2026-11-23 04:05:06`. */
export function timeText(at: string | number, zone: Zone, withDate = true): string {
  return formatOf(zone, withDate).format(new Date(at)) + (zone === 'utc' ? 'Z' : '')
}

/** A time in the chosen zone. The tooltip shows the other zone. */
export function Time({ at, withDate = true }: { readonly at: string; readonly withDate?: boolean }) {
  const zone = useZone()
  const other = zone === 'utc' ? `${timeText(at, 'local')} local` : timeText(at, 'utc')
  return (
    <time dateTime={at} title={other} className="num">
      {timeText(at, zone, withDate)}
    </time>
  )
}

const INSTANT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)/

/** Our own text, with its instants in the chosen zone. Not for values of users, which must appear unchanged. */
export function WithTimes({ text }: { readonly text: string }) {
  // Every second part is an instant.
  return text
    .split(INSTANT)
    .map((part, index) => (index % 2 === 1 ? <Time key={`${index}/${part}`} at={part} /> : part))
}
