import type { FormFact } from '@nextvisit/contracts'
import { type FormDecision, type OpenForm, type Shown, stateAt } from '@nextvisit/domain'

/** A user's queue and the clocks of the forms that were shown, under one of the catalogs that are compared. */
export interface Play {
  readonly open: ReadonlyMap<string, OpenForm>
  readonly shown: ReadonlyMap<string, Shown>
  /** Of each form the row that was over last: `form-events` may tell of it again. */
  readonly over: ReadonlyMap<string, OverRow>
}

interface OverRow {
  readonly id: string
  /** Also one that had expired, or was cancelled, before the answer was heard of. */
  readonly isDelivered: boolean
}

export const NOTHING_PLAYED: Play = { open: new Map(), shown: new Map(), over: new Map() }

/** What really happened, as `form-events` tells it. */
export function withFact(play: Play, fact: FormFact): Play {
  const { formId, queuedId } = fact
  const last = play.over.get(formId)
  const before = last?.id === queuedId ? last : undefined
  if (fact.type === 'FormQueued') {
    if (before) return play
    const row: OpenForm = {
      id: queuedId,
      formId,
      state: 'waiting',
      priority: fact.priority,
      queuedAt: Date.parse(fact.at),
      showFrom: Date.parse(fact.showFrom),
      expiresAt: fact.expiresAt === undefined ? undefined : Date.parse(fact.expiresAt),
    }
    return { ...play, open: new Map(play.open).set(formId, row) }
  }
  const wasDelivered = before?.isDelivered === true
  const isDelivered = wasDelivered || fact.type === 'FormDelivered'
  const over = new Map(play.over).set(formId, { id: queuedId, isDelivered })
  const open = play.open.get(formId)?.id === queuedId ? without(play.open, formId) : play.open
  if (fact.type !== 'FormDelivered') return { ...play, open, over }
  return { open, over, shown: withShown(play.shown, formId, Date.parse(fact.at), wasDelivered ? 0 : 1) }
}

/** What expired by `instant` is gone. */
export function lapsed(play: Play, instant: number): Play {
  const isOver = (row: OpenForm): boolean => stateAt(row, instant) === 'expired'
  if (![...play.open.values()].some(isOver)) return play
  return { ...play, open: new Map([...play.open].filter(([, row]) => !isOver(row))) }
}

export function withQueued(play: Play, decision: Extract<FormDecision, { outcome: 'queued' }>, at: number): Play {
  const { formId, priority, showFrom, expiresAt } = decision
  const row: OpenForm = { id: formId, formId, state: 'waiting', priority, queuedAt: at, showFrom, expiresAt }
  return { ...play, open: new Map(play.open).set(formId, row) }
}

/** An offer that is confirmed at once. */
export function withShownForm(play: Play, formId: string, at: number): Play {
  return { ...play, open: without(play.open, formId), shown: withShown(play.shown, formId, at, 1) }
}

function withShown(shown: Play['shown'], formId: string, at: number, times: number): Play['shown'] {
  const before = shown.get(formId)
  return new Map(shown).set(formId, { times: (before?.times ?? 0) + times, lastAt: Math.max(before?.lastAt ?? at, at) })
}

function without(open: Play['open'], formId: string): Play['open'] {
  return new Map([...open].filter(([id]) => id !== formId))
}
