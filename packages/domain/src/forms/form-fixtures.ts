import { type Form, ProjectConfig } from '@nextvisit/contracts'
import { compileForms, type FormIndex } from './form-index.ts'
import type { OpenForm } from './queue.ts'
import type { Occasion } from './triggers.ts'
import { type EventHistory, type UserState, withOccurrence } from './user-state.ts'

/** For the specs beside this file: one call gives a valid part, the argument says what is special about it. */

export const NOW = Date.parse('2026-11-02T10:00:00.000Z')
export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** A user after one `checkout`. */
export function userState(special: Partial<UserState> = {}): UserState {
  return {
    userId: '00000000-0000-5000-8000-000000000001',
    traits: new Map(),
    device: {},
    firstSeenAt: NOW - DAY,
    events: new Map([['checkout', history([NOW])]]),
    open: new Map(),
    shown: new Map(),
    ...special,
  }
}

/** A history of occurrences in this order of arrival, all of them SDK events of one session where one is named. */
export function history(occurrences: readonly number[], sessionStartedAt?: number): EventHistory {
  return occurrences.reduce<EventHistory>((before, at) => withOccurrence(before, at, sessionStartedAt), {
    total: 0,
    latest: [],
  })
}

export function openForm(special: Partial<OpenForm> = {}): OpenForm {
  const formId = special.formId ?? 'nps'
  return {
    id: `row-${formId}`,
    formId,
    state: 'waiting',
    priority: 0,
    queuedAt: NOW - HOUR,
    showFrom: NOW - HOUR,
    ...special,
  }
}

export function eventOccasion(special: Partial<Extract<Occasion, { kind: 'event' }>> = {}): Occasion {
  return { kind: 'event', slug: 'checkout', source: 'admin', receivedAt: NOW, occurredAt: NOW, ...special }
}

export function visitOccasion(special: Partial<Extract<Occasion, { kind: 'visit' }>> = {}): Occasion {
  return { kind: 'visit', startsSession: true, receivedAt: NOW, ...special }
}

/** An index over forms that react to `checkout` unless they say otherwise. */
export function formIndex(forms: readonly Partial<Form>[], project: Partial<ProjectConfig> = {}): FormIndex {
  const complete = forms.map((form) => ({ id: 'nps', triggers: [{ event: 'checkout' }], ...form }))
  return compileForms(ProjectConfig.parse({ id: 'shop', ...project, forms: complete }))
}
