import type { EventTracked, IdentifyRequested, ProjectRef, UserFact } from '@nextvisit/contracts'
import type { Db } from '@nextvisit/database'
import type { SegmentIndex } from '@nextvisit/domain'
import type { FoldContext, Recorded } from '@nextvisit/projection'
import { segmentsOf } from './project-segments.ts'
import { readMemberships } from './segment-rows.ts'
import { type DraftUser, emptyDraft, newUser, type ProjectSegments, type UserDraft, userKeyOf } from './user-draft.ts'
import { type EventKey, readEvents, readUsers, type StoredUser } from './user-rows.ts'

type ActivityFact = IdentifyRequested | EventTracked

/** What is known of the users that a batch touches, as far as it matters: three questions at most. */
export async function loadDraft(
  db: Db,
  batch: readonly Recorded<UserFact>[],
  { catalog }: Pick<FoldContext, 'catalog'>,
): Promise<UserDraft> {
  const draft = emptyDraft()
  const projects = new Map<string, ProjectSegments>()
  const segmentsAtHand = (place: ProjectRef): ProjectSegments => {
    const key = `${place.organization}/${place.project}`
    const found = projects.get(key) ?? segmentsOf(catalog, place)
    projects.set(key, found)
    return found
  }
  const profiles = new Set<DraftUser>()
  const followed = new Set<DraftUser>()
  const events = new Map<string, EventKey>()
  for (const { fact, partition } of batch) {
    if (fact.type === 'VisitAnswered') continue
    const user = draft.users.get(userKeyOf(fact)) ?? newUser(fact, partition, segmentsAtHand(fact))
    draft.users.set(userKeyOf(fact), user)
    if (fact.type === 'EventTracked') putEvent(events, user, fact.slug)
    if (matters(fact, user.segments.index)) followed.add(user)
    if (touchesProfile(fact) || followed.has(user)) profiles.add(user)
  }
  for (const user of followed) for (const slug of user.segments.index.eventSlugs) putEvent(events, user, slug)
  await Promise.all([
    readUsers(db, [...profiles]).then((rows) => rows.forEach((row) => putProfile(draft, row))),
    loadEvents(db, draft, [...events.values()]),
    loadMemberships(db, draft, [...followed]),
  ])
  return draft
}

/** Whether a fact may change the segments that its user is in. */
export function matters(fact: ActivityFact, { segments, eventSlugs }: SegmentIndex): boolean {
  return fact.type === 'IdentifyRequested' ? segments.length > 0 : eventSlugs.has(fact.slug)
}

/** An admin track event touches nothing but the event's own row. */
export function touchesProfile(fact: ActivityFact): boolean {
  return fact.type === 'IdentifyRequested' || fact.source === 'sdk'
}

/** Users that were found by what must be done to them, with all that their segments go by. */
export async function loadFollowed(
  db: Db,
  rows: readonly StoredUser[],
  { catalog }: Pick<FoldContext, 'catalog'>,
): Promise<UserDraft> {
  const draft = emptyDraft()
  for (const row of rows) {
    draft.users.set(userKeyOf(row.profile), newUser(row.profile, row.partition, segmentsOf(catalog, row.profile)))
    putProfile(draft, row)
  }
  const users = [...draft.users.values()]
  const events = users.flatMap((user) => [...user.segments.index.eventSlugs].map((slug) => ({ ...keyOf(user), slug })))
  await Promise.all([loadEvents(db, draft, events), loadMemberships(db, draft, users)])
  return draft
}

function putProfile(draft: UserDraft, { profile, clock }: StoredUser): void {
  const user = draft.users.get(userKeyOf(profile))
  if (!user) return
  user.profile = profile
  user.clock = clock
  user.stored = { ...user.stored, definitions: clock.definitions }
}

async function loadEvents(db: Db, { users }: UserDraft, keys: readonly EventKey[]): Promise<void> {
  for (const event of await readEvents(db, keys)) users.get(userKeyOf(event))?.events.set(event.slug, event)
}

async function loadMemberships(db: Db, { users }: UserDraft, of: readonly DraftUser[]): Promise<void> {
  for (const { segmentId, since, ...key } of await readMemberships(db, of)) {
    users.get(userKeyOf(key))?.memberships.set(segmentId, since)
  }
  for (const user of of) user.stored = { ...user.stored, memberships: new Map(user.memberships) }
}

function putEvent(events: Map<string, EventKey>, user: DraftUser, slug: string): void {
  events.set(`${userKeyOf(user)}/${slug}`, { ...keyOf(user), slug })
}

function keyOf({ organization, project, userId }: DraftUser): Omit<EventKey, 'slug'> {
  return { organization, project, userId }
}
