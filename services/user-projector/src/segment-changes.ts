import { BatchTooLargeError, type FoldContext } from '@nextvisit/consumer'
import type { ActivityFact, AnswerGiven } from '@nextvisit/contracts'
import { type SegmentChange, segmentFactsOf } from '@nextvisit/domain'
import type { Draft, DraftUser } from './draft.ts'

/** Bytes of a record in the outbox, with its headers. */
const CHANGE_BYTES = 800
/** Maximum number of changes in a commit, each with two rows. One record, or one user of a tick, may have more. */
export const MAX_CHANGES_A_COMMIT = 5_000

interface ChangesOf {
  readonly changes: readonly SegmentChange[]
  /** The offset of the record, or of the last one before a tick. */
  readonly causeOffset: bigint
  /** The record that the user was folded for, and its trace. Absent: a tick. */
  readonly record?: ActivityFact | AnswerGiven
  readonly traceparent?: string | undefined
}

/**
 * Adds the changes of a user's memberships to the records that the batch publishes (forms.md, Changes of membership). The live fold has
 * published those of a rebuild. Throws `BatchTooLargeError` if there are too many: the batch is then folded in parts.
 */
export function publishChanges(
  draft: Draft,
  user: DraftUser,
  { changes, causeOffset, record, traceparent }: ChangesOf,
  { mode }: Pick<FoldContext, 'mode'>,
): void {
  if (changes.length === 0 || mode === 'rebuild') return
  const { partition, segments } = user
  const cause = { causeOffset: Number(causeOffset), catalogRevision: segments.revision, ...(record && { record }) }
  for (const fact of segmentFactsOf(user, changes, cause)) draft.changes.push({ fact, partition, traceparent })
  if (draft.records > 1 && draft.changes.length > MAX_CHANGES_A_COMMIT)
    throw new BatchTooLargeError(draft.changes.length * CHANGE_BYTES, MAX_CHANGES_A_COMMIT * CHANGE_BYTES)
}
