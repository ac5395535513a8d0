/** A form in a user's queue that is not over yet. */
export interface OpenForm {
  /** UUIDv5 of record id, received and form id: {@link queuedIdOf}. */
  readonly id: string
  readonly formId: string
  readonly state: 'waiting' | 'offered'
  readonly priority: number
  readonly queuedAt: number
  /** Shown no earlier than this. */
  readonly showFrom: number
  /** Not shown at or after this; absent: never expires. */
  readonly expiresAt?: number | undefined
  /** When it was last offered. */
  readonly offeredAt?: number | undefined
}

/** An offer that is not confirmed within this waits again. */
export const OFFER_HOLDS_MS = 30_000

/** What time alone has made of an open form by `instant` (forms.md, The queue). */
export function stateAt(form: OpenForm, instant: number): 'waiting' | 'offered' | 'expired' {
  const isOffered = form.state === 'offered' && instant - (form.offeredAt ?? 0) < OFFER_HOLDS_MS
  if (isOffered) return 'offered'
  return form.expiresAt !== undefined && instant >= form.expiresAt ? 'expired' : 'waiting'
}
