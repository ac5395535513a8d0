import type { VisitAnswered } from '@nextvisit/contracts'

/** What a route answers. */
export interface Answer {
  readonly outcome: 'answered'
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: object
  /** `body` as JSON, where somebody had to know it before the answer is written. */
  readonly text?: string
  /** The fact that is true once the answer is written. Kept with the answer, since a repeat makes it true as well. */
  readonly confirms?: VisitAnswered | undefined
  /** Runs once the answer is written; the caller does not wait for it. Must not reject. */
  readonly afterwards?: () => Promise<void>
}

export function answer(status: number, body: object): Answer {
  return { outcome: 'answered', status, body }
}
