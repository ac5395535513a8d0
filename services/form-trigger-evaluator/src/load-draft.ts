import { type FoldContext, type JsonRow, readTogether, type Recorded, requireFits } from '@nextvisit/consumer'
import type { DeviceFacts, UserFact, UserRef } from '@nextvisit/contracts'
import { type Db, msOf, type RowOf, sql, type Sql } from '@nextvisit/database'
import {
  answersNeededBy,
  answerStateOf,
  countsNeededBy,
  type EventHistory,
  MAX_EVENT_HISTORY_BYTES,
  maxAnswerBytes,
  parseTraits,
  queueOf,
  type ShownForm,
  USER_LIMITS,
  userKeyOf,
} from '@nextvisit/domain'
import { emptyDraft, type Draft, newUser, projectOf } from './draft.ts'
import { toQueueRow } from './queue-rows.ts'
import { eventOccurrences, formAnswers, queues, shownForms, users } from './tables.ts'

/** The columns that name a user. */
const USER = ['organization', 'project', 'userId'] as const
/** Looks rows up by the index of open rows. The index of the key holds every form that the user was ever shown. */
const OPEN = { columns: USER, where: sql`state IN ('waiting', 'offered')`, orderBy: 'formId' } as const

interface Stored {
  readonly users: JsonRow
  readonly occurrences: JsonRow
  readonly queue: JsonRow
  readonly shown: JsonRow
  readonly answers: JsonRow
}

/**
 * Loads the users that a batch touches by one query, however large the batch. Loads only events that these records can ask
 * for, open rows of the queue, and rows that these records name. The cost of a batch therefore does not grow with a user's
 * history. Throws `BatchTooLargeError` if the users' traits, or the events, are too long for one commit.
 */
export async function loadDraft(
  db: Db,
  records: readonly Recorded<UserFact>[],
  { catalog, mode }: Pick<FoldContext, 'catalog' | 'mode'>,
): Promise<Draft> {
  const draft = emptyDraft()
  // An erasure deletes rows without reading them.
  const batch = records.filter(({ fact }) => fact.type !== 'UserErased')
  if (batch.length === 0) return draft
  for (const { fact, partition } of batch) draft.users.set(userKeyOf(fact), newUser(fact, partition))
  const touched = [...draft.users.values()]
  const asking = batch.map(({ fact }) => {
    const project = mode === 'live' ? projectOf(draft, fact, catalog)?.config : undefined
    return { fact, counts: countsNeededBy(fact, project), answers: answersNeededBy(fact, project) }
  })
  const answers = answersOf(asking)
  const eventBytes = asking.reduce((sum, { counts }) => sum + counts.length * MAX_EVENT_HISTORY_BYTES, 0)
  await requireFits(db, {
    records: batch.length,
    eventBytes,
    maxTraitBytes: touched.length * USER_LIMITS.traitBytes,
    fromUsers: () => users.lookUp(touched),
    answers,
  })
  const events = new Map<string, UserEvent>()
  for (const { fact, counts } of asking) {
    for (const slug of counts) events.set(`${userKeyOf(fact)}/${slug}`, { ...refOf(fact), slug })
  }
  const asked = sql`SELECT * FROM ${users.source('asked', touched)}`
  const stored = await readTogether<Stored>(db, asked, {
    users: sql`SELECT ${users.columns} FROM ${users.lookUp('asked')}`,
    occurrences: sql`SELECT ${eventOccurrences.columns} FROM ${eventOccurrences.lookUp([...events.values()])}`,
    queue: queueFor(batch),
    shown: sql`SELECT ${shownForms.columns} FROM ${shownForms.lookUp('asked', { columns: USER })}`,
    // Most batches need none, and read none.
    answers: sql`SELECT ${formAnswers.columns} FROM ${answers?.from() ?? sql`form_answers WHERE false`}`,
  })
  stored.users.forEach((row) => putUser(draft, row))
  stored.occurrences.forEach((row) => putOccurrences(draft, row))
  putQueues(draft, stored.queue, stored.shown)
  putAnswers(draft, stored.answers)
  return draft
}

type UserEvent = UserRef & { readonly slug: string }

function refOf({ organization, project, userId }: UserRef): UserRef {
  return { organization, project, userId }
}

function putUser(draft: Draft, found: JsonRow): void {
  const row = users.parse(found)
  const user = draft.users.get(userKeyOf(row))
  if (!user) return
  const traits = parseTraits(row.traits)
  user.profile = { traits, traitBytes: row.traitBytes, device: JSON.parse(row.device) as DeviceFacts }
  user.storedTraits = traits
  user.firstSeenAt = msOf(row.firstSeenAt)
  user.sessionStartedAt = msOf(row.sessionStartedAt)
  user.lastSdkContactAt = msOf(row.lastSdkContactAt)
}

function putOccurrences(draft: Draft, found: JsonRow): void {
  const row = eventOccurrences.parse(found)
  draft.users.get(userKeyOf(row))?.events.set(row.slug, toHistory(row))
}

/** The records of a batch, and the forms whose answers they need. */
type AskingAnswers = readonly { readonly fact: UserFact; readonly answers: ReturnType<typeof answersNeededBy> }[]

/** Returns the answers to load: all of the users who answer, and those that evaluations read. undefined: none. */
function answersOf(asking: AskingAnswers): { readonly maxBytes: number; readonly from: () => Sql } | undefined {
  const answering = new Map<string, UserRef>()
  const read = new Map<string, UserRef & { readonly formId: string }>()
  for (const { fact, answers } of asking) {
    const key = userKeyOf(fact)
    if (answers === 'all') answering.set(key, refOf(fact))
    else for (const formId of answers) read.set(`${key}/${formId}`, { ...refOf(fact), formId })
  }
  if (answering.size === 0 && read.size === 0) return undefined
  return {
    maxBytes: maxAnswerBytes({ users: answering.size, forms: read.size }),
    from: () => sql`(
      SELECT * FROM ${formAnswers.lookUp([...answering.values()], { columns: USER })}
      UNION ALL
      SELECT * FROM ${formAnswers.lookUp([...read.values()].filter((one) => !answering.has(userKeyOf(one))))}
    ) AS form_answers`,
  }
}

function putAnswers(draft: Draft, rows: readonly JsonRow[]): void {
  const found = Map.groupBy(
    rows.map((row) => formAnswers.parse(row)),
    userKeyOf,
  )
  for (const [key, states] of found) {
    const user = draft.users.get(key)
    if (!user) continue
    user.storedAnswers = new Map(states.map((row) => [row.formId, answerStateOf(row)]))
    user.answers = user.storedAnswers
  }
}

/** Returns a row in the form that the rules count by. */
export function toHistory({
  total,
  latestMs: latest,
  sessionStartedAt,
  sessionCount: count,
  missedAt,
  missedReceivedAt,
}: RowOf<typeof eventOccurrences>): EventHistory {
  const [startedAt, occurredAt, received] = [msOf(sessionStartedAt), msOf(missedAt), msOf(missedReceivedAt)]
  return {
    total,
    latest,
    session: startedAt === undefined ? undefined : { startedAt, count },
    missed: occurredAt === undefined || received === undefined ? undefined : { occurredAt, received },
  }
}

/**
 * Selects open rows, rows that a `VisitAnswered` or an answer names, and rows that these records queued when they were processed before.
 * Each kind has an index of its own. An `OR` would read all closed rows, which are many.
 */
function queueFor(batch: readonly Recorded<UserFact>[]): Sql {
  const named = batch.flatMap(({ fact }) => {
    if (fact.type === 'VisitAnswered') return { ...refOf(fact), id: fact.queuedId }
    return fact.type === 'AnswerGiven' ? { ...refOf(fact), id: fact.offerId } : []
  })
  // An imported record queues no form.
  const causes = batch.flatMap(({ fact }) => ('imported' in fact ? [] : fact.id))
  return sql`
    SELECT ${queues.columns} FROM ${queues.lookUp('asked', OPEN)}
    UNION
    SELECT ${queues.columns} FROM ${queues.lookUp(named)}
    UNION
    SELECT ${queues.columns} FROM queue WHERE cause_id = ANY(${causes}::uuid[])`
}

function putQueues(draft: Draft, rows: readonly JsonRow[], shown: readonly JsonRow[]): void {
  const rowsOf = Map.groupBy(
    rows.map((row) => toQueueRow(queues.parse(row))),
    userKeyOf,
  )
  const shownOf = Map.groupBy(
    shown.map((row) => shownForms.parse(row)),
    userKeyOf,
  )
  for (const [key, user] of draft.users) {
    user.storedQueue = queueOf(rowsOf.get(key) ?? [], new Map((shownOf.get(key) ?? []).map(toShown)))
    user.queue = user.storedQueue
  }
}

function toShown({ formId, times, lastAt }: RowOf<typeof shownForms>): [string, ShownForm] {
  return [formId, { times, lastAt }]
}
