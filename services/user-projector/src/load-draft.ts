import type { EventTracked, IdentifyRequested, ProjectRef, UserFact } from '@nextvisit/contracts'
import type { Db } from '@nextvisit/database'
import type { FoldContext, Recorded } from '@nextvisit/projection'
import { findMixedProjects } from './computed-users.ts'
import { segmentsOf } from './project-segments.ts'
import { readMemberships } from './segment-rows.ts'
import { type DraftUser, emptyDraft, newUser, type ProjectSegments, type UserDraft, userKeyOf } from './user-draft.ts'
import { type EventKey, type EventRow, readEvents, readEventsOf, readUsers, type StoredUser } from './user-rows.ts'

type ActivityFact = IdentifyRequested | EventTracked

/** What is known of the users that a batch touches, as far as it matters: five questions at most. */
export async function loadDraft(
  db: Db,
  batch: readonly Recorded<UserFact>[],
  context: Pick<FoldContext, 'catalog' | 'partition'>,
): Promise<UserDraft> {
  const draft = emptyDraft()
  const facts = batch.flatMap(({ fact }) => (fact.type === 'VisitAnswered' ? [] : fact))
  if (facts.length === 0) return draft
  const atHand = await findSegmentsAtHand(db, facts, context)
  const profiles = new Set<DraftUser>()
  const followed = new Set<DraftUser>()
  const events = new Map<string, EventKey>()
  for (const fact of facts) {
    const user =
      draft.users.get(userKeyOf(fact)) ??
      newUser(fact, context.partition, atHand.get(projectKeyOf(fact)) ?? segmentsOf(context.catalog, fact))
    draft.users.set(userKeyOf(fact), user)
    if (fact.type === 'EventTracked') events.set(`${userKeyOf(user)}/${fact.slug}`, { ...keyOf(user), slug: fact.slug })
    if (matters(fact, user.segments)) followed.add(user)
    if (touchesProfile(fact) || followed.has(user)) profiles.add(user)
  }
  await Promise.all([
    readUsers(db, [...profiles]).then((rows) => rows.forEach((row) => putProfile(draft, row))),
    readEvents(db, [...events.values()]).then((rows) => putEvents(draft, rows)),
    loadWhatSegmentsCount(db, draft, [...followed]),
  ])
  return draft
}

/** The segments of these facts' projects. Throws while the catalog is older than what their users were computed with. */
async function findSegmentsAtHand(
  db: Db,
  facts: readonly ActivityFact[],
  { catalog, partition }: Pick<FoldContext, 'catalog' | 'partition'>,
): Promise<ReadonlyMap<string, ProjectSegments>> {
  const places = new Map(facts.map((fact) => [projectKeyOf(fact), fact]))
  const projects = Array.from(places.values(), ({ organization, project }) => ({
    ...segmentsOf(catalog, { organization, project }),
    organization,
    project,
  }))
  const mixed = new Set((await findMixedProjects(db, partition, projects)).map(projectKeyOf))
  return new Map(
    projects.map(({ index, revision, ...place }) => {
      const key = projectKeyOf(place)
      return [key, { index, revision, isMixed: mixed.has(key) }]
    }),
  )
}

/** Whether a fact may change the segments that its user is in. */
export function matters(fact: ActivityFact, { index, isMixed }: ProjectSegments): boolean {
  if (isMixed) return true
  return fact.type === 'IdentifyRequested' ? index.segments.length > 0 : index.eventSlugs.has(fact.slug)
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
  await loadWhatSegmentsCount(db, draft, [...draft.users.values()])
  return draft
}

function putProfile(draft: UserDraft, { profile, clock }: StoredUser): void {
  const user = draft.users.get(userKeyOf(profile))
  if (!user) return
  user.profile = profile
  user.clock = clock
  user.stored = { ...user.stored, definitions: clock.definitions }
}

/** The events that these users' segments count, and the segments that they are in. */
async function loadWhatSegmentsCount(db: Db, draft: UserDraft, users: readonly DraftUser[]): Promise<void> {
  const projects = new Map(users.map((user) => [projectKeyOf(user), user]))
  const events = [...projects.values()].flatMap(({ organization, project, segments }) =>
    Array.from(segments.index.eventSlugs, (slug) => ({ organization, project, slug })),
  )
  await Promise.all([
    readEventsOf(db, users, events).then((rows) => putEvents(draft, rows)),
    loadMemberships(db, draft, users),
  ])
}

function putEvents({ users }: UserDraft, events: readonly EventRow[]): void {
  for (const event of events) users.get(userKeyOf(event))?.events.set(event.slug, event)
}

async function loadMemberships(db: Db, { users }: UserDraft, of: readonly DraftUser[]): Promise<void> {
  for (const { segmentId, since, ...key } of await readMemberships(db, of)) {
    users.get(userKeyOf(key))?.memberships.set(segmentId, since)
  }
  for (const user of of) user.stored = { ...user.stored, memberships: new Map(user.memberships) }
}

function keyOf({ organization, project, userId }: DraftUser): Omit<EventKey, 'slug'> {
  return { organization, project, userId }
}

function projectKeyOf({ organization, project }: ProjectRef): string {
  return `${organization}/${project}`
}
