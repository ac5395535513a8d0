import type { OperatorChangeDetails, OperatorChangeKind } from '@nextvisit/contracts'

/** A change that an operator asks for. Longer texts are cut. No member has a userName, a key or a secret. */
export interface WantedChange {
  readonly kind: OperatorChangeKind
  readonly organization?: string | undefined
  readonly project?: string | undefined
  readonly target?: string | undefined
  readonly details?: OperatorChangeDetails | undefined
  /** The difference, the important lines first. */
  readonly lines?: readonly string[] | undefined
}
