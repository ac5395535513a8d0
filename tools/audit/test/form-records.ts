import type {
  AnswerGiven,
  EventTracked,
  FormAnswered,
  FormDelivered,
  FormFact,
  FormQueued,
  IdentifyRequested,
  UserFact,
} from '../src/facts.ts'
import type { FormInFile } from '../src/workspace-file.ts'
import { uuidV5 } from '../src/uuid-v5.ts'
import { NO_ANSWERS } from '../src/answer-outcomes.ts'
import { PARTITION } from './audit-history.ts'

/** Records, rows and revisions of one user and one form. Instants are minutes after ten. */

const NAMESPACE = 'e1c55cb5-3a47-4d0c-9a06-2d7f1f1c6a3e'
export const place = { organization: 'acme', project: 'shop', userId: NAMESPACE } as const
const caller = { ...place, environment: 'P', keyed: false, userName: 'ada' } as const
/** Returns the id of a record by its number. */
export const idOf = (name: string | number) => uuidV5(String(name), NAMESPACE)
export const at = (minutes: number) => new Date(Date.parse('2026-11-02T10:00:00.000Z') + minutes * 60_000).toISOString()

export const track = (minutes: number, special: Partial<EventTracked> = {}): UserFact => ({
  ...caller,
  type: 'EventTracked',
  id: idOf(minutes),
  source: 'admin',
  received: at(minutes),
  occurredAt: at(minutes),
  eventName: 'Searched',
  slug: 'searched',
  newEvent: false,
  metered: true,
  evaluateTriggers: true,
  ...special,
})

export const identify = (minutes: number, set = {}, source: 'admin' | 'sdk' = 'admin'): IdentifyRequested => ({
  ...caller,
  type: 'IdentifyRequested',
  id: idOf(minutes),
  source,
  received: at(minutes),
  traits: Object.keys(set),
  operations: { set },
  device: {},
  registeredTraits: [],
})
export const visit = (minutes: number) => identify(minutes, {}, 'sdk')

/** Returns a row queued by the record of that minute. */
export function queued(minutes: number, special: Partial<FormQueued> = {}): FormQueued {
  const { formId = 'nps' } = special
  const queuedId = uuidV5(`${at(minutes)}/${formId}`, idOf(minutes))
  const [causeId, id] = [idOf(minutes), uuidV5('FormQueued/', queuedId)]
  const when = { at: at(minutes), showFrom: at(minutes) }
  const how = { environment: 'P', priority: 0, catalogRevision: 1 } as const
  return { type: 'FormQueued', ...place, id, queuedId, formId, causeId, ...how, ...when, ...special }
}

/** Returns the end of a row, by the evaluator's clock. */
export const over = (
  { queuedId, formId, causeId }: FormQueued,
  type: 'FormCancelled' | 'FormExpired',
  minutes: number,
): FormFact => ({ ...place, type, id: uuidV5(`${type}/`, queuedId), queuedId, formId, at: at(minutes), causeId })

/** Returns the record that the visit of that minute was answered with the row. */
export const answered = ({ queuedId, formId }: FormQueued, minutes: number): UserFact => ({
  ...place,
  type: 'VisitAnswered',
  id: uuidV5(queuedId, idOf(minutes)),
  received: at(minutes),
  environment: 'P',
  visitId: idOf(minutes),
  queuedId,
  formId,
})
export const delivered = ({ queuedId, formId, causeId }: FormQueued, minutes: number): FormDelivered => {
  const visitId = idOf(minutes)
  const id = uuidV5(`FormDelivered/${visitId}`, queuedId)
  return { ...place, type: 'FormDelivered', id, queuedId, formId, at: at(minutes), causeId, environment: 'P', visitId }
}

/** Returns an answer of that minute to a row. */
export function answerTo({ queuedId, formId }: FormQueued, minutes: number, special: Partial<AnswerGiven> = {}) {
  const how = { status: 'finished', revision: 1, elements: { score: 'nps' }, answers: { score: 9 } } as const
  const sealed = { key: NAMESPACE, bytes: 'c2VhbGVk' }
  const from = {
    ...place,
    environment: 'P',
    source: 'sdk',
    keyed: false,
    id: idOf(minutes),
    received: at(minutes),
  } as const
  return { type: 'AnswerGiven', ...from, offerId: queuedId, formId, ...how, sealed, ...special } satisfies AnswerGiven
}

export function outcomeOf(
  answer: AnswerGiven,
  outcome: FormAnswered['outcome'],
  special: Partial<FormAnswered> = {},
): FormAnswered {
  const { id, organization, project, userId, offerId: queuedId, formId, received, status } = answer
  const { environment, elements, sealed = { key: NAMESPACE, bytes: '' } } = answer
  const row = { id, organization, project, userId, queuedId, formId, at: received, outcome }
  return { type: 'FormAnswered', ...row, status, revision: answer.revision, environment, elements, sealed, ...special }
}

/** Returns a waiting row; `special` overrides its columns. */
export function queueRow({ queuedId, formId, priority, at: queuedAt, showFrom, ...fact }: FormQueued, special = {}) {
  const { environment, expiresAt = null, causeId, catalogRevision } = fact
  const fixed = { id: queuedId, formId, environment, priority, queuedAt, showFrom, expiresAt, causeId, catalogRevision }
  const moving = { state: 'waiting', offeredAt: null, shownAt: null, visitId: null, ...NO_ANSWERS }
  return { ...place, ...fixed, ...moving, partition: PARTITION, asOf: at(60), ...special }
}

/** Returns a form `nps` that every `searched` triggers. */
export function nps(special: Partial<FormInFile> = {}): FormInFile {
  return { id: 'nps', triggers: [{ event: 'Searched' }], ...special }
}

/** Returns a revision of the project's forms, applied in that minute. */
export function revision(number: number, minutes: number, forms: readonly FormInFile[], formCooldown = '0s') {
  const config = { projects: [{ id: 'shop', formCooldown, forms }] }
  return { organization: 'acme', revision: number, appliedAt: at(minutes), config }
}
