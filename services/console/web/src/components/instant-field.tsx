import type { RefObject } from 'react'
import { fieldValueOf } from './instant-of.ts'
import { useZone } from './time.tsx'

interface InstantFieldProps {
  readonly label: string
  /** The dialog around the field resets it when it closes. */
  readonly ref: RefObject<HTMLInputElement | null>
  /** First value, in ms since the epoch. Absent: the field is optional, and empty. */
  readonly initialMs?: number
  /** The meaning of an empty field. */
  readonly note?: string
}

/** Field for date and time in the zone of the page. `instantOf` reads its value. */
export function InstantField({ label, ref, initialMs, note }: InstantFieldProps) {
  const zone = useZone()
  return (
    <label>
      <span>
        {label}{' '}
        <span className="quiet">
          ({zone === 'utc' ? 'UTC' : 'local time'}
          {note !== undefined && `; ${note}`})
        </span>
      </span>
      <input
        // Another zone is another value.
        key={zone}
        ref={ref}
        type="datetime-local"
        step={1}
        required={initialMs !== undefined}
        {...(initialMs !== undefined && { defaultValue: fieldValueOf(initialMs, zone) })}
      />
    </label>
  )
}
