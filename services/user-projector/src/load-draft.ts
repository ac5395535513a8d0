import { type FoldContext, type Recorded, requireFits } from '@nextvisit/consumer'
import { type DeviceFacts, isRequestFact, type TraitValue, type UserFact, type UserRef } from '@nextvisit/contracts'
import { type Db, msOf, type RowOf, sql } from '@nextvisit/database'
import {
  countsRaisedBy,
  MAX_EVENT_HISTORY_BYTES,
  mayChangeSegments,
  projectKeyOf,
  touchesProfile,
  USER_LIMITS,
  userKeyOf,
} from '@nextvisit/domain'
import { partitionKeyOf, readProjectSegments, segmentsOf } from './project-segments.ts'
import { segmentMembers, userEvents, users } from './tables.ts'
import { type DraftUser, emptyDraft, newUser, type Draft } from './draft.ts'

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
  const draft = emptyDraft()
  const activity = batch.flatMap(({ fact, partition }) => (isRequestFact(fact) ? { fact, partition } : []))
  if (activity.length === 0) return draft
  const segments = await readProjectSegments(
    db,
    activity.map(({ fact: { organization, project }, partition }) => ({ organization, project, partition })),
    catalog,
  )
  const profiles = new Set<DraftUser>()
  const followed = new Set<DraftUser>()
  const events = new Map<string, UserRef & { readonly slug: string }>()
  for (const { fact, partition } of activity) {
    const { organization, project, userId } = fact
    const key = userKeyOf(fact)
    const found = segments.get(partitionKeyOf({ ...fact, partition })) ?? segmentsOf(catalog, fact)
    const user = draft.users.get(key) ?? newUser(fact, partition, found)
    draft.users.set(key, user)
    for (const slug of countsRaisedBy(fact)) events.set(`${key}/${slug}`, { organization, project, userId, slug })
    if (mayChangeSegments(fact, user.segments)) followed.add(user)
    if (touchesProfile(fact) || followed.has(user)) profiles.add(user)
  }
  const counted = [...followed].reduce((sum, { segments: { index } }) => sum + index.countKeys.size, 0)
  const eventBytes = (events.size + counted) * MAX_EVENT_HISTORY_BYTES
  const bytes = { atLeast: eventBytes, atMost: eventBytes + profiles.size * USER_LIMITS.traitBytes }
  await requireFits(batch.length, bytes, async () => eventBytes + (await readTraitBytes(db, [...profiles])))
  // In sequence: a running consumer folds over one connection.
  for (const row of await users.selectByKeys(db, [...profiles])) putProfile(draft, row)
  for (const row of await userEvents.selectByKeys(db, [...events.values()])) putEvent(draft, row)
  await loadCounted(db, draft, [...followed])
  return draft
}

async function readTraitBytes(db: Db, touched: readonly DraftUser[]): Promise<number> {
  const [found] = await db.$queryRaw<{ bytes: number }[]>(sql`
    SELECT coalesce(sum(trait_bytes), 0)::float8 AS bytes FROM ${users.lookUp(touched)}`)
  return found?.bytes ?? 0
}

/** Loads users with everything that their segments depend on. */
export async function loadFollowed(
  db: Db,
  rows: readonly UserRow[],
  { catalog }: Pick<FoldContext, 'catalog'>,
): Promise<Draft> {
  const draft = emptyDraft()
  for (const row of rows) {
    draft.users.set(userKeyOf(row), newUser(row, row.partition, segmentsOf(catalog, row)))
    putProfile(draft, row)
  }
  await loadCounted(db, draft, [...draft.users.values()])
  return draft
}

function putProfile(draft: Draft, { definitions: fingerprint, asOf, changesAt, country, ...row }: UserRow): void {
  const user = draft.users.get(userKeyOf(row))
  if (!user) return
  const traits = new Map(Object.entries(JSON.parse(row.traits) as Record<string, TraitValue>))
  const device = JSON.parse(row.device) as DeviceFacts
  user.profile = { ...row, traits, device: country === null ? device : { ...device, $countryCode: country } }
  user.computed = { fingerprint, asOf: msOf(asOf), changesAt: msOf(changesAt) }
  user.stored = { ...user.stored, fingerprint, traits }
}

function putEvent(draft: Draft, row: RowOf<typeof userEvents>): void {
  const { slug, count: total, latestMs: latest, firstAt, lastAt } = row
  draft.users.get(userKeyOf(row))?.events.set(slug, { total, latest, firstAt, lastAt })
}

/** Loads the events that these users' segments count, and their memberships. */
async function loadCounted(db: Db, draft: Draft, followed: readonly DraftUser[]): Promise<void> {
  const projects = new Map(followed.map((user) => [projectKeyOf(user), user]))
  const slugs = [...projects.values()].flatMap(({ organization, project, segments }) =>
    Array.from(segments.index.countKeys, (slug) => ({ organization, project, slug })),
  )
  const counted = sql`FROM ${users.source('followed', followed)}
    JOIN ${userEvents.source('counted', slugs, ['organization', 'project', 'slug'])} USING (organization, project)
    JOIN user_events USING (organization, project, user_id, slug)`
  const events = slugs.length === 0 ? [] : await userEvents.select(db, counted)
  const memberships = await segmentMembers.selectByKeys(db, followed, ['organization', 'project', 'userId'])
  for (const row of events) putEvent(draft, row)
  for (const row of memberships) draft.users.get(userKeyOf(row))?.memberships.set(row.segmentId, Date.parse(row.since))
  for (const user of followed) user.stored = { ...user.stored, memberships: new Map(user.memberships) }
}
