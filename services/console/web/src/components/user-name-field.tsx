import type { RefObject } from 'react'
import { MAX_USER_NAME_CHARACTERS, unitsOf } from '../../../src/shared-with-pages.ts'

interface UserNameFieldProps {
  readonly label: string
  /** The dialog around the field empties it when it closes. */
  readonly ref: RefObject<HTMLInputElement | null>
}

/** Field in which an operator types the exact userName of a person to confirm a change. */
export function UserNameField({ label, ref }: UserNameFieldProps) {
  return (
    <label className="wide">
      {label}
      <input
        ref={ref}
        type="text"
        required
        maxLength={unitsOf(MAX_USER_NAME_CHARACTERS)}
        autoComplete="off"
        spellCheck={false}
      />
    </label>
  )
}
