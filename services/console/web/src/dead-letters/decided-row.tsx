import type { LetterLine } from '../../../src/dead-letters/api.ts'
import { LetterLink } from './letter-link.tsx'
import { LastDecision, LetterState } from './letter-state.tsx'

export const DECIDED_COLUMNS = ['Letter', 'State', 'Decision', 'Cause'] as const

export interface DecidedRowProps {
  readonly consumer: string
  readonly letter: LetterLine
}

/** A letter, with what was decided on it last. */
export function DecidedRow({ consumer, letter }: DecidedRowProps) {
  return (
    <tr>
      <th scope="row">
        <LetterLink consumer={consumer} id={letter.id} />
      </th>
      <td>
        <LetterState state={letter.state} />
      </td>
      <td>
        <LastDecision {...letter} />
      </td>
      <td className="value">{letter.cause}</td>
    </tr>
  )
}
