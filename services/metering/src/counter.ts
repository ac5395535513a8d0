/** Names a row of `counters`: the organization's events of a month (`project` is ''), or a project's active users. */
export interface CounterKey {
  readonly organization: string
  readonly project: string
  readonly kind: 'event' | 'mau'
  readonly month: string
}

interface Place {
  readonly organization: string
  readonly project: string
}

/** Whose limits: event tracking is the organization's, active users are each project's own (decisions.md, Track event). */
export function counterOf(kind: CounterKey['kind'], place: Place, month: string): CounterKey {
  return { organization: place.organization, project: kind === 'event' ? '' : place.project, kind, month }
}

/** The UTC calendar month of an instant as records carry it: `2026-11`. */
export function monthOf(received: string): string {
  return received.slice(0, 7)
}
