import { type Statement, unlessEmpty } from '@nextvisit/database'
import {
  addMemberCounts,
  addProgress,
  deleteMembers,
  type MembersAdded,
  type ProgressAdded,
  upsertMembers,
} from './segment-rows.ts'
import type { DraftUser, UserDraft } from './user-draft.ts'
import { type IdentifiedUser, upsertEvents, upsertUsers } from './user-rows.ts'

/** What a batch has changed: a statement a table, however many rows. */
export function saveDraft({ users }: UserDraft): readonly Statement[] {
  const all = [...users.values()]
  const changed = all.filter((user): user is IdentifiedUser => user.isChanged && user.profile !== undefined)
  return [
    ...unlessEmpty(changed, upsertUsers),
    ...unlessEmpty(all.flatMap(changedEvents), upsertEvents),
    ...unlessEmpty(
      changed.flatMap((user) => joined(user).map(([segmentId, since]) => ({ ...user, segmentId, since }))),
      upsertMembers,
    ),
    ...unlessEmpty(
      changed.flatMap((user) => left(user).map((segmentId) => ({ ...user, segmentId }))),
      deleteMembers,
    ),
    ...unlessEmpty(memberCounts(changed), addMemberCounts),
    ...unlessEmpty(progress(changed), addProgress),
  ]
}

function changedEvents({ organization, project, userId, events, changedSlugs }: DraftUser) {
  return [...changedSlugs].flatMap((slug) => {
    const event = events.get(slug)
    return event ? { ...event, organization, project, userId, slug } : []
  })
}

/** Those that are new, and those that were left and joined again. */
function joined({ memberships, stored }: DraftUser): [string, number][] {
  return [...memberships].filter(([id, since]) => stored.memberships.get(id) !== since)
}

function left({ memberships, stored }: DraftUser): string[] {
  return [...stored.memberships.keys()].filter((id) => !memberships.has(id))
}

function memberCounts(users: readonly DraftUser[]): MembersAdded[] {
  const sums = new Map<string, MembersAdded>()
  const add = ({ organization, project, partition }: DraftUser, segmentId: string, members: number): void => {
    const key = `${organization}/${project}/${segmentId}/${partition}`
    const sum = (sums.get(key)?.members ?? 0) + members
    sums.set(key, { organization, project, segmentId, partition, members: sum })
  }
  for (const user of users) {
    for (const id of user.memberships.keys()) if (!user.stored.memberships.has(id)) add(user, id, 1)
    for (const id of left(user)) add(user, id, -1)
  }
  return [...sums.values()].filter(({ members }) => members !== 0)
}

function progress(users: readonly DraftUser[]): ProgressAdded[] {
  const sums = new Map<string, ProgressAdded>()
  const add = ({ organization, project, partition, segments }: DraftUser, definitions: string, by: number): void => {
    const key = `${organization}/${project}/${definitions}/${partition}`
    const { index, revision } = segments
    const about = definitions === index.definitions ? { segments: index.segments, revision } : NOTHING_KNOWN
    sums.set(key, {
      organization,
      project,
      definitions,
      partition,
      segments: about.segments.map(({ definition }) => definition),
      revision: about.revision,
      users: (sums.get(key)?.users ?? 0) + by,
    })
  }
  for (const user of users) {
    const { stored, clock } = user
    if (stored.definitions === clock.definitions) continue
    if (stored.definitions !== undefined) add(user, stored.definitions, -1)
    add(user, clock.definitions, 1)
  }
  return [...sums.values()].filter((sum) => sum.users !== 0)
}

/** Of definitions that are not at hand any more: their row, which is there, says it. */
const NOTHING_KNOWN = { segments: [], revision: 0 } as const
