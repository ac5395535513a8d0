import { type ErasedUser, erasedSource, eraseRows } from '@nextvisit/consumer'
import { isoOf, type Sql, sql } from '@nextvisit/database'
import { answerRowsOf, formatChangedTraits } from '@nextvisit/domain'
import { formAnswers, segmentCounts, segmentMembers, segmentProgress, userEvents, users } from './tables.ts'
import type { Draft, DraftUser } from './draft.ts'

/** Returns statements for the rows that a batch has changed: one for each table, however many rows. */
export function saveDraft(draft: Draft): readonly Sql[] {
  const all = [...draft.users.values()]
  const changed = all.filter(({ isChanged, firstSeenAt }) => isChanged && firstSeenAt !== undefined)
  const answers = all.map((user) => answerRowsOf(user, user.stored.answers, user.answers))
  return [
    ...eraseEverything(draft.erased),
    ...users.upsertKeeping('traits', changed.flatMap(userRowOf)),
    ...userEvents.upsert(all.flatMap(changedEvents)),
    ...formAnswers.upsert(answers.flatMap(({ written }) => written)),
    ...formAnswers.deleteByKeys(answers.flatMap(({ dropped }) => dropped)),
    ...segmentMembers.upsert(changed.flatMap(joined)),
    ...segmentMembers.deleteByKeys(changed.flatMap(left)),
    ...segmentCounts.upsert(changed.flatMap(memberCounts)),
    ...segmentProgress.upsert(changed.flatMap(progress)),
  ]
}

/** Deletes all rows of erased users, and takes them from the counts. */
function eraseEverything(erased: readonly ErasedUser[]): readonly Sql[] {
  if (erased.length === 0) return []
  return [
    sql`
    UPDATE segment_counts AS own SET members = own.members - gone.members FROM (
      SELECT organization, project, segment_id, erased.partition, count(*) AS members
      FROM segment_members JOIN ${erasedSource(erased)} USING (organization, project, user_id) GROUP BY 1, 2, 3, 4
    ) AS gone
    WHERE (own.organization, own.project, own.segment_id, own.partition)
        = (gone.organization, gone.project, gone.segment_id, gone.partition)`,
    ...eraseRows('segment_members', erased),
    sql`
    UPDATE segment_progress AS own SET users = own.users - gone.users FROM (
      SELECT organization, project, definitions, users.partition, count(*) AS users
      FROM users JOIN ${erasedSource(erased)} USING (organization, project, user_id) GROUP BY 1, 2, 3, 4
    ) AS gone
    WHERE (own.organization, own.project, own.definitions, own.partition)
        = (gone.organization, gone.project, gone.definitions, gone.partition)`,
    ...eraseRows('users', erased),
    ...eraseRows('user_events', erased),
    ...eraseRows('form_answers', erased),
  ]
}

/** The country is a device fact with a column of its own. */
function userRowOf(user: DraftUser) {
  const { organization, project, userId, userName, firstSeenAt, lastSeenAt, computed } = user
  if (userName === undefined || firstSeenAt === undefined || lastSeenAt === undefined) return []
  const { traits, traitBytes } = user.profile
  const { $countryCode: country = null, ...device } = user.profile.device
  const row = {
    organization,
    project,
    userId,
    userName,
    traits: formatChangedTraits(traits, user.stored.traits),
    traitBytes,
    droppedTraitOperations: user.droppedTraitOperations,
    country,
    device: JSON.stringify(device),
    firstSeenAt: isoOf(firstSeenAt),
    lastSeenAt: isoOf(lastSeenAt),
    partition: user.partition,
    definitions: computed.fingerprint,
    asOf: isoOf(computed.asOf),
    changesAt: isoOf(computed.changesAt),
  }
  return [row]
}

function changedEvents({ organization, project, userId, events, changedCounts }: DraftUser) {
  return [...changedCounts].flatMap((slug) => {
    const event = events.get(slug)
    if (event?.firstAt === undefined) return []
    const { total: count, latest: latestMs, firstAt } = event
    const firstAndLast = { firstAt: isoOf(firstAt), lastAt: isoOf(latestMs.at(-1) ?? firstAt) }
    return { organization, project, userId, slug, count, latestMs, ...firstAndLast }
  })
}

/** Returns the segments that the user has joined, perhaps again. */
function joined({ organization, project, userId, memberships, stored }: DraftUser) {
  return [...memberships]
    .filter(([segmentId, since]) => stored.memberships.get(segmentId) !== since)
    .map(([segmentId, since]) => ({ organization, project, segmentId, userId, since: new Date(since).toISOString() }))
}

function left({ organization, project, userId, memberships, stored }: DraftUser) {
  return [...stored.memberships.keys()]
    .filter((segmentId) => !memberships.has(segmentId))
    .map((segmentId) => ({ organization, project, segmentId, userId }))
}

function memberCounts(user: DraftUser) {
  const { organization, project, partition, memberships, stored } = user
  const added = [...memberships.keys()].filter((segmentId) => !stored.memberships.has(segmentId))
  return [
    ...added.map((segmentId) => ({ organization, project, segmentId, partition, members: 1 })),
    ...left(user).map(({ segmentId }) => ({ organization, project, segmentId, partition, members: -1 })),
  ]
}

function progress({ organization, project, partition, segments, computed, stored }: DraftUser) {
  if (stored.fingerprint === computed.fingerprint) return []
  const { index, revision } = segments
  const rowOf = (definitions: string, by: number) => ({
    organization,
    project,
    definitions,
    partition,
    // For a fingerprint that the project no longer has, the stored row names its segments.
    ...(definitions === index.fingerprint
      ? { segments: index.segments.map(({ fingerprint }) => fingerprint), revision }
      : { segments: [], revision: 0 }),
    users: by,
  })
  const before = stored.fingerprint === undefined ? [] : [rowOf(stored.fingerprint, -1)]
  return [...before, rowOf(computed.fingerprint, 1)]
}
