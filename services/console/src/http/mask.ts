import type { GateOutcome, ProjectRef } from '@nextvisit/contracts'
import type { Session } from './sessions.ts'

/** Replaces a value that the viewer has not asked for. */
export const MASK = '•••'

/** The first character of a shorter userName would reveal too much. */
const MIN_CHARACTERS = 8

/** Shows personal data, or hides it from a viewer who has not asked for it. */
export interface Mask {
  readonly isMasked: boolean
  /** Formats the value of a trait, a device fact or a property. */
  readonly value: (value: unknown) => string
  readonly userName: (userName: string) => string
  /** Removes values of the user or the event from the outcome of a gate. */
  readonly gate: (gate: GateOutcome) => GateOutcome
}

export const SHOW_ALL: Mask = {
  isMasked: false,
  // In quotes, a text differs from a number: "150" and 150.
  value: textOf,
  userName: (userName) => userName,
  gate: (gate) => gate,
}

/** Stands for a value of another program that is nested too deep: `JSON.stringify` would overflow the stack. */
const TOO_DEEP = '(nested too deep to show)'

function textOf(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error instanceof RangeError) return TOO_DEEP
    throw error
  }
}

export const HIDE_PERSONAL: Mask = {
  isMasked: true,
  value: () => MASK,
  // Rows must be distinguishable, and the first character of a long name reveals little.
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

/** Returns the name of a user in {@link Session.revealed}. */
export function revealedName({ organization, project, userId }: ProjectRef & { readonly userId: string }): string {
  return `${organization}/${project}/${userId}`
}

/** Returns the mask for personal data with this name in {@link Session.revealed}. Operators see everything. */
export function maskFor({ role, revealed }: Pick<Session, 'role' | 'revealed'>, name: string): Mask {
  return role === 'operator' || revealed.has(name) ? SHOW_ALL : HIDE_PERSONAL
}
