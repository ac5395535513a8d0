import { BODY_LIMITS, type TraitValue } from '@nextvisit/contracts'
import type { JsonObject } from '../../bodies/json-object.ts'
import { reject, type Rejection } from '../../bodies/rejection.ts'
import type { ProjectPolicy } from '../../project-policy.ts'
import { userNameOfUserId } from '../../segment-com/segment-com-message.ts'
import { traitsOf } from '../../segment-com/segment-com-traits.ts'
import { EXPORT_RULES, type SkipReason } from './export-line.ts'

type ExportedUserName =
  | { readonly outcome: 'ok'; readonly userName: string }
  | { readonly outcome: 'skipped'; readonly reason: SkipReason }
  | Rejection

/** Converts a user's id to a userName. An empty id is anonymous. `member` names it in messages. */
export function exportedUserName(member: string, id: unknown): ExportedUserName {
  const userName = userNameOfUserId(id)
  if (userName === undefined) return { outcome: 'skipped', reason: 'anonymous' }
  if (typeof userName === 'string') return { outcome: 'ok', userName }
  return reject(EXPORT_RULES.member(member, `text, or a whole number of at most ${Number.MAX_SAFE_INTEGER}`))
}

type ExportedTraits =
  | { readonly outcome: 'ok'; readonly set: Readonly<Record<string, TraitValue>>; readonly dropped: number }
  | Rejection

/** Flattens a user's properties to traits, as for Segment's API. `member` names them in messages. */
export function traitsOfExport(
  member: string,
  properties: JsonObject,
  project: Pick<ProjectPolicy, 'allowedFields'>,
): ExportedTraits {
  const traits = traitsOf([{ member, traits: properties }], project)
  if (traits.outcome === 'rejected') return traits
  const { $set, dropped } = traits
  // Reading ends at one trait more than an identify may have.
  if (Object.keys($set).length > BODY_LIMITS.traitOperations)
    return reject(EXPORT_RULES.manyTraits(member, BODY_LIMITS.traitOperations))
  return { outcome: 'ok', set: $set, dropped }
}
