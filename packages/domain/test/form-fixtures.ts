import { type Answers, type Form, ProjectConfig, type TraitValue } from '@nextvisit/contracts'
import { compileForms, type FormIndex } from '../src/forms/form-index.ts'
import { type Moment, momentOf } from '../src/time/moment.ts'
import { type OpenRow, queueOf } from '../src/forms/queue/queue.ts'
import type { TriggerContext } from '../src/forms/triggers.ts'
import type { UserState } from '../src/forms/user-state.ts'
import type { Profile } from '../src/traits/profile.ts'
import type { AnswerState, AnswerStates } from '../src/users/answer-state.ts'
import { type EventHistory, withOccurrence } from '../src/counts/event-history.ts'

/** Fixtures for the specs of the form rules: each function returns a valid part, and its argument overrides members. */

export const NOW = Date.parse('2026-11-02T10:00:00.000Z')
export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** A user's state, with the profile and the queue in parts. `lastAt`: in ms. */
export interface UserInput
  extends Partial<Omit<UserState, 'profile' | 'queue'>>,
    Partial<Pick<Profile, 'traits' | 'device'>> {
  readonly open?: ReadonlyMap<string, OpenRow>
  readonly shown?: ReadonlyMap<string, { readonly times: number; readonly lastAt: number }>
}

/** A user after one `checkout`. */
export function userState({
  open = new Map(),
  shown = new Map(),
  traits = new Map(),
  device = {},
  ...special
}: UserInput = {}): UserState {
  const shownForms = [...shown].map(([formId, { times, lastAt }]) => [formId, { times, lastAt: iso(lastAt) }] as const)
  return {
    userId: '00000000-0000-5000-8000-000000000001',
    profile: { traits, traitBytes: 0, device },
    firstSeenAt: NOW - DAY,
    events: new Map([['checkout', history([NOW])]]),
    answers: new Map(),
    queue: queueOf([...open.values()], new Map(shownForms)),
    ...special,
  }
}

/** An instant of the log, ms since the epoch, as text. */
export function iso(ms: number): string {
  return new Date(ms).toISOString()
}

export function moment(ms: number): Moment {
  return momentOf(iso(ms))
}

/**
 * A history of occurrences in this order of arrival, all of them SDK events of one session where one is named. None is
 * ahead: each was received when the last of them had happened.
 */
export function history(occurrences: readonly number[], sessionStartedAt?: number): EventHistory {
  const received = Math.max(...occurrences)
  return occurrences.reduce<EventHistory>(
    (before, occurredAt) => withOccurrence(before, { occurredAt, received }, sessionStartedAt),
    { total: 0, latest: [] },
  )
}

type QueueInstant = 'queuedAt' | 'showFrom' | 'expiresAt' | 'offeredAt'
/** An open row with its instants in ms. */
export type OpenFormInput = Partial<Omit<OpenRow, QueueInstant>> & Partial<Record<QueueInstant, number>>

export function openForm(special: OpenFormInput = {}): OpenRow {
  const { queuedAt = NOW - HOUR, showFrom = NOW - HOUR, expiresAt, offeredAt, ...members } = special
  const formId = special.formId ?? 'nps'
  return {
    organization: 'acme',
    project: 'shop',
    userId: '00000000-0000-5000-8000-000000000001',
    id: `row-${formId}`,
    formId,
    environment: 'P',
    state: 'waiting',
    priority: 0,
    queuedAt: iso(queuedAt),
    showFrom: iso(showFrom),
    expiresAt: expiresAt === undefined ? null : iso(expiresAt),
    offeredAt: offeredAt === undefined ? null : iso(offeredAt),
    shownAt: null,
    visitId: null,
    startedAt: null,
    endedAt: null,
    answerStatus: null,
    causeId: '00000000-0000-7000-8000-000000000001',
    causeOffset: 0,
    catalogRevision: 1,
    ...members,
  }
}

export function eventContext(special: Partial<NonNullable<TriggerContext['event']>> = {}): TriggerContext {
  return { received: moment(NOW), event: { slug: 'checkout', source: 'admin', occurredAt: NOW, ...special } }
}

export function visitContext(visit = { startsSession: true }): TriggerContext {
  return { received: moment(NOW), visit }
}

/** The answers to one form, which was finished an hour ago, or not yet. */
export function answersTo(
  formId: string,
  answers: Readonly<Record<string, TraitValue>> = {},
  { isFinished = true }: { readonly isFinished?: boolean } = {},
): AnswerStates {
  const state: AnswerState = {
    offerId: '00000000-0000-5000-8000-00000000000a',
    status: isFinished ? 'finished' : 'partial',
    keptSince: NOW - HOUR,
    endedAt: isFinished ? NOW - HOUR : undefined,
    answers: new Map(Object.entries(answers)),
    otherOffers: new Map(),
  }
  return new Map([[formId, state]])
}

export function answeredContext(answers: Answers = {}, formId = 'nps'): TriggerContext {
  return { received: moment(NOW), answered: { formId, answers } }
}

/** An index over forms that react to `checkout` unless they say otherwise. */
export function formIndex(forms: readonly Partial<Form>[], project: Partial<ProjectConfig> = {}): FormIndex {
  const complete = forms.map((form) => ({ id: 'nps', triggers: [{ event: 'checkout' }], ...form }))
  return compileForms(ProjectConfig.parse({ id: 'shop', ...project, forms: complete }))
}
