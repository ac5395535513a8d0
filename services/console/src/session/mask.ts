import type { GateOutcome } from '@nextvisit/contracts'
import { MASK, type UserPath } from '../users/api.ts'
import type { Session } from './sessions.ts'

/** Of a shorter userName the first character tells too much. */
const MIN_CHARACTERS = 8

/** Shows a value, or hides it from somebody who has not asked for it. */
export interface Mask {
  readonly isMasked: boolean
  /** A value of a trait, a device fact or a property. */
  readonly value: (value: unknown) => string
  readonly userName: (userName: string) => string
  /** Without what the user or the event had. */
  readonly gate: (gate: GateOutcome) => GateOutcome
}

export const SHOW_ALL: Mask = {
  isMasked: false,
  value: (value) => (typeof value === 'string' ? value : JSON.stringify(value)),
  userName: (userName) => userName,
  gate: (gate) => gate,
}

export const HIDE_PERSONAL: Mask = {
  isMasked: true,
  value: () => MASK,
  // Rows must be told apart, and the first character of a long name tells little.
  userName: (userName) => {
    const [first = '', ...others] = userName
    return others.length + 1 < MIN_CHARACTERS ? MASK : `${first}${MASK}`
  },
  gate: (outcome) => {
    if (outcome.gate === 'where' && outcome.compared.actual !== undefined)
      return { ...outcome, compared: { ...outcome.compared, actual: MASK } }
    if (outcome.gate === 'audience' && outcome.compared.actual !== undefined)
      return { ...outcome, compared: { ...outcome.compared, actual: MASK } }
    return outcome
  },
}

/** How `revealed` names a user. */
export function revealedName({ organization, project, userId }: UserPath): string {
  return `${organization}/${project}/${userId}`
}

/** Operators see everything; viewers see the personal data that they have asked for, by its name among `revealed`. */
export function maskFor({ role, revealed }: Pick<Session, 'role' | 'revealed'>, name: string): Mask {
  return role === 'operator' || revealed.has(name) ? SHOW_ALL : HIDE_PERSONAL
}
