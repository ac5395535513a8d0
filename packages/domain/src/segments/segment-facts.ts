import type { SegmentFact, UserRef } from '@nextvisit/contracts'
import { uuidV5 } from '../ids.ts'
import type { SegmentChange } from './segmented-user.ts'

/** The place in the log at which the memberships of a user have changed. */
export interface SegmentChangeCause {
  /** Offset of the record, or of the last one before a tick, in the partition of the user: a later erasure covers the changes. */
  readonly causeOffset: number
  /** Absent: a tick. */
  readonly record?: { readonly id: string; readonly received: string }
  /** The revision of the catalog whose segments were computed. */
  readonly catalogRevision: number
}

/** Returns the records of changes of a user's memberships, in the same order. */
export function segmentFactsOf(
  { organization, project, userId }: UserRef,
  changes: readonly SegmentChange[],
  cause: SegmentChangeCause,
): readonly SegmentFact[] {
  return changes.map((change) => ({
    type: change.type,
    id: segmentFactIdOf(userId, change, cause),
    organization,
    project,
    userId,
    segmentId: change.segmentId,
    at: new Date(change.at).toISOString(),
    cause: change.cause,
    ...(change.cause === 'record' && { causeId: cause.record?.id }),
    causeOffset: cause.causeOffset,
    catalogRevision: cause.catalogRevision,
  }))
}

/**
 * Returns the id of a change: the same for the same change, so that readers can drop duplicates. A record changes a membership once, but
 * two records may have one id (decisions.md, Retries). Time changes it once at an instant, and each revision of the catalog once, at an
 * instant of the clock: a restored projector computes it at another one.
 */
function segmentFactIdOf(
  userId: string,
  { type, segmentId, at, cause }: SegmentChange,
  { record, catalogRevision }: SegmentChangeCause,
): string {
  if (cause === 'record' && record) return uuidV5(`${type}/${segmentId}/${record.received}`, record.id)
  const by = cause === 'definition' ? `definition/${catalogRevision}` : `time/${new Date(at).toISOString()}`
  return uuidV5(`${type}/${segmentId}/${by}`, userId)
}
