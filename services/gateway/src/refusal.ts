import type { Rejection } from '@nextvisit/domain'

/** Why a request is not done: becomes `{ status, error, message }`. `message` names what is wrong and what would be right. */
export interface Refusal {
  readonly outcome: 'refused'
  readonly status: number
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
  /** Its record may be in the log all the same. */
  readonly mayBeRecorded?: boolean
}

export function refuse(status: number, message: string, headers?: Readonly<Record<string, string>>): Refusal {
  return { outcome: 'refused', status, message, ...(headers && { headers }) }
}

/** A body that breaks a rule: 400, but for a missing userName (contract, Identify user: 401). */
export function refuseBody({ reason, message }: Rejection): Refusal {
  return refuse(reason === 'no-user-name' ? 401 : 400, message)
}

/** Something that the answer needs is away, or too much is asked: come again. */
export function busy(message: string, retryAfterSeconds = 1): Refusal {
  return refuse(503, message, { 'Retry-After': String(retryAfterSeconds) })
}
