import { type FoldContext, type Recorded, requireFits } from '@nextvisit/consumer'
import {
  type ActivityFact,
  type AnswerGiven,
  type DeviceFacts,
  isActivityFact,
  type UserFact,
  type UserRef,
} from '@nextvisit/contracts'
import { type Db, msOf, type RowOf, sql, type Sql } from '@nextvisit/database'
import {
  answerStateOf,
  countsRaisedBy,
  MAX_EVENT_HISTORY_BYTES,
  maxAnswerBytes,
  mayChangeSegments,
  parseTraits,
  projectKeyOf,
  USER_LIMITS,
  userKeyOf,
} from '@nextvisit/domain'
import { partitionKeyOf, readProjectSegments, segmentsOf } from './project-segments.ts'
import { formAnswers, segmentMembers, userEvents, users } from './tables.ts'
import { type DraftUser, emptyDraft, newUser, type Draft } from './draft.ts'

/** The columns that name a user. */
const USER = ['organization', 'project', 'userId'] as const

export type UserRow = RowOf<typeof users>

/**
 * Loads the users that a batch touches, with the rows that the batch may need: few queries, however many records. Throws
 * `BatchTooLargeError` if the users' traits, or the events that their segments count, are too long for one commit.
 */
export async function loadDraft(
  db: Db,
  batch: readonly Recorded<UserFact>[],
  { catalog }: Pick<FoldContext, 'catalog'>,
): Promise<Draft> {
  const draft = emptyDraft(batch.length)
  const activity = batch.flatMap(({ fact, partition }) => (isFolded(fact) ? { fact, partition } : []))
  if (activity.length === 0) return draft
  const segments = await readProjectSegments(
    db,
    activity.map(({ fact: { organization, project }, partition }) => ({ organization, project, partition })),
    catalog,
  )
  const withRow = new Set<DraftUser>()
  const recomputed = new Set<DraftUser>()
  const answering = new Set<DraftUser>()
  const events = new Map<string, UserRef & { readonly slug: string }>()
  for (const { fact, partition } of activity) {
    const { organization, project, userId } = fact
    const key = userKeyOf(fact)
    const found = segments.get(partitionKeyOf({ ...fact, partition })) ?? segmentsOf(catalog, fact)
    const user = draft.users.get(key) ?? newUser(fact, partition, found)
    draft.users.set(key, user)
    if (fact.type === 'AnswerGiven') answering.add(user)
    else for (const slug of countsRaisedBy(fact)) events.set(`${key}/${slug}`, { organization, project, userId, slug })
    if (mayChangeSegments(fact, user.segments)) recomputed.add(user)
    if (changesUserRow(fact) || recomputed.has(user)) withRow.add(user)
  }
  const counted = [...recomputed].reduce((sum, { segments: { index } }) => sum + index.countKeys.size, 0)
  const eventBytes = (events.size + counted) * MAX_EVENT_HISTORY_BYTES
  const answers = answersOf([...answering], [...recomputed])
  await requireFits(db, {
    records: batch.length,
    eventBytes,
    maxTraitBytes: withRow.size * USER_LIMITS.traitBytes,
    fromUsers: () => users.lookUp([...withRow]),
    answers,
  })
  // In sequence: a running consumer folds over one connection.
  for (const row of await users.selectByKeys(db, [...withRow])) putUser(draft, row)
  for (const row of await userEvents.selectByKeys(db, [...events.values()])) putEvent(draft, row)
  if (answers) putAnswers(draft, await formAnswers.select(db, sql`FROM ${answers.from()}`))
  await loadCounted(db, draft, [...recomputed])
  return draft
}

/** Returns whether a fact changes a user, or the user's answers. */
function isFolded(fact: UserFact): fact is ActivityFact | AnswerGiven {
  return isActivityFact(fact) || fact.type === 'AnswerGiven'
}

/** Returns the answers to load: all of the users who answer, and those that segments read. undefined: none. */
function answersOf(
  answering: readonly DraftUser[],
  recomputed: readonly DraftUser[],
): { readonly maxBytes: number; readonly from: () => Sql } | undefined {
  const all = new Set(answering)
  const read = recomputed.flatMap((user) => {
    const { organization, project, userId, segments } = user
    if (all.has(user)) return []
    return Array.from(segments.index.answeredForms, (formId) => ({ organization, project, userId, formId }))
  })
  if (answering.length === 0 && read.length === 0) return undefined
  return {
    maxBytes: maxAnswerBytes({ users: answering.length, forms: read.length }),
    from: () => sql`(
      SELECT * FROM ${formAnswers.lookUp(answering, { columns: USER })}
      UNION ALL
      SELECT * FROM ${formAnswers.lookUp(read)}
    ) AS form_answers`,
  }
}

function putAnswers(draft: Draft, rows: readonly RowOf<typeof formAnswers>[]): void {
  for (const [key, states] of Map.groupBy(rows, userKeyOf)) {
    const user = draft.users.get(key)
    if (!user) continue
    user.answers = new Map(states.map((row) => [row.formId, answerStateOf(row)]))
    user.stored = { ...user.stored, answers: user.answers }
  }
}

/** Loads users with everything that their segments depend on. */
export async function loadSegmentedUsers(
  db: Db,
  rows: readonly UserRow[],
  { catalog }: Pick<FoldContext, 'catalog'>,
): Promise<Draft> {
  const draft = emptyDraft()
  for (const row of rows) {
    draft.users.set(userKeyOf(row), newUser(row, row.partition, segmentsOf(catalog, row)))
    putUser(draft, row)
  }
  const answers = answersOf([], [...draft.users.values()])
  if (answers) putAnswers(draft, await formAnswers.select(db, sql`FROM ${answers.from()}`))
  await loadCounted(db, draft, [...draft.users.values()])
  return draft
}

/** Returns whether a fact changes the row of its user. An admin track event changes only the event's history, and an answer only the answers. */
function changesUserRow(fact: ActivityFact | AnswerGiven): boolean {
  if (fact.type === 'AnswerGiven') return false
  return fact.type === 'IdentifyRequested' || fact.source === 'sdk'
}

function putUser(draft: Draft, row: UserRow): void {
  const user = draft.users.get(userKeyOf(row))
  if (!user) return
  const traits = parseTraits(row.traits)
  const device = JSON.parse(row.device) as DeviceFacts
  user.userName = row.userName
  user.profile = {
    traits,
    traitBytes: row.traitBytes,
    device: row.country === null ? device : { ...device, $countryCode: row.country },
  }
  user.droppedTraitOperations = row.droppedTraitOperations
  user.firstSeenAt = msOf(row.firstSeenAt)
  user.lastSeenAt = msOf(row.lastSeenAt)
  user.computed = { fingerprint: row.definitions, asOf: msOf(row.asOf), changesAt: msOf(row.changesAt) }
  user.stored = { ...user.stored, fingerprint: row.definitions, traits }
}

function putEvent(draft: Draft, row: RowOf<typeof userEvents>): void {
  const { slug, count: total, latestMs: latest, firstAt } = row
  draft.users.get(userKeyOf(row))?.events.set(slug, { total, latest, firstAt: msOf(firstAt) })
}

/** Loads the events that these users' segments count, and their memberships. */
async function loadCounted(db: Db, draft: Draft, segmented: readonly DraftUser[]): Promise<void> {
  const projects = new Map(segmented.map((user) => [projectKeyOf(user), user]))
  const slugs = [...projects.values()].flatMap(({ organization, project, segments }) =>
    Array.from(segments.index.countKeys, (slug) => ({ organization, project, slug })),
  )
  const counted = sql`FROM ${users.source('segmented', segmented)}
    JOIN ${userEvents.source('counted', slugs, ['organization', 'project', 'slug'])} USING (organization, project)
    JOIN user_events USING (organization, project, user_id, slug)`
  const events = slugs.length === 0 ? [] : await userEvents.select(db, counted)
  const memberships = await segmentMembers.selectByKeys(db, segmented, ['organization', 'project', 'userId'])
  for (const row of events) putEvent(draft, row)
  for (const row of memberships) draft.users.get(userKeyOf(row))?.memberships.set(row.segmentId, Date.parse(row.since))
  for (const user of segmented) user.stored = { ...user.stored, memberships: new Map(user.memberships) }
}
