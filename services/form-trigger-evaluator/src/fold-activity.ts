import type { EventTracked, IdentifyRequested } from '@nextvisit/contracts'
import { applyImportedOperations, applyTraitOperations, startsSession, withOccurrence } from '@nextvisit/domain'
import type { DraftUser } from './forms-draft.ts'

/** The user after an identify. Returns whether it is a visit that starts a session. */
export function foldIdentify(user: DraftUser, fact: IdentifyRequested): boolean {
  if (fact.imported) return foldImportedIdentify(user, fact)
  const received = Date.parse(fact.received)
  user.traits = applyTraitOperations(user.traits, fact.operations).traits
  user.device = { ...user.device, ...fact.device }
  user.firstSeenAt = Math.min(user.firstSeenAt ?? received, received)
  user.isChanged = true
  if (fact.source === 'admin') return false
  const isFirst = startsSession(user, received)
  if (isFirst) user.sessionStartedAt = received
  touch(user, received)
  return isFirst
}

/** Fills in what is not known (decisions.md, Import); never a visit. */
function foldImportedIdentify(user: DraftUser, { operations, device, received, occurredAt }: IdentifyRequested): false {
  const at = Date.parse(occurredAt ?? received)
  user.traits = applyImportedOperations(user.traits, operations).traits
  user.device = { ...device, ...user.device }
  user.firstSeenAt = Math.min(user.firstSeenAt ?? at, at)
  user.isChanged = true
  return false
}

/** The user after a tracked event, however old. Only one of their own browser or app counts for the session. */
export function foldEvent(user: DraftUser, fact: EventTracked): void {
  const session = fact.source === 'sdk' ? user.sessionStartedAt : undefined
  user.events.set(fact.slug, withOccurrence(user.events.get(fact.slug), Date.parse(fact.occurredAt), session))
  user.changedSlugs.add(fact.slug)
  if (fact.source === 'sdk') touch(user, Date.parse(fact.received))
}

function touch(user: DraftUser, received: number): void {
  user.lastSdkContactAt = Math.max(user.lastSdkContactAt ?? received, received)
  user.isChanged = true
}
