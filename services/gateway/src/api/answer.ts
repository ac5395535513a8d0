/** What a route answers. */
export interface Answer {
  readonly outcome: 'answered'
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: object
  /** `body` as JSON, where somebody had to know it before the answer is written. */
  readonly text?: string
}

export function answer(status: number, body: object): Answer {
  return { outcome: 'answered', status, body }
}
