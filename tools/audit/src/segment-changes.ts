import { type SegmentFact, type UserRef, userKey } from './facts.ts'
import type { Findings } from './findings.ts'
import type { FoldPublished } from './fold-decisions.ts'
import { type Model, OF_RANGE } from './model.ts'

interface SegmentChangesOptions {
  /** Returns whether an erasure that the snapshot has passed covers the cause of a change. */
  readonly isErased: (fact: SegmentFact) => boolean
  readonly findings: Findings
}

export interface SegmentChangesModel extends Model {
  readonly foldSegment: FoldPublished<SegmentFact>
}

interface MemberRow extends UserRef {
  readonly segmentId: string
}

/** Compares each membership with the last record of its user and segment (forms.md, Changes of membership). */
export function createSegmentChangesModel({ isErased, findings }: SegmentChangesOptions): SegmentChangesModel {
  const known = new Set<string>()
  const last = new Map<string, SegmentFact>()
  /** Memberships with records that may be newer than the snapshot, which may differ. */
  const moving = new Set<string>()

  return {
    foldSegment: (fact, { isLater }) => {
      // Publishing is at least once. The first copy counts.
      if (known.has(fact.id)) return
      known.add(fact.id)
      const key = `${userKey(fact)}/${fact.segmentId}`
      if (isLater) moving.add(key)
      if (!isErased(fact)) last.set(key, fact)
    },

    compareUsers: async (snapshot, { first, last: end }) => {
      const members = new Set<string>()
      for await (const row of snapshot.rows<MemberRow>(
        `SELECT organization, project, user_id AS "userId", segment_id AS "segmentId" FROM segment_members ${OF_RANGE}`,
        [first, end],
      )) {
        const key = `${userKey(row)}/${row.segmentId}`
        members.add(key)
        if (moving.has(key) || last.get(key)?.type === 'SegmentEntered') continue
        findings.add('form-events: no SegmentEntered', key, `is a member, but ${lastIn(last.get(key))}`)
      }
      for (const [key, fact] of last) {
        if (fact.type === 'SegmentLeft' || members.has(key) || moving.has(key)) continue
        findings.add('form-events: no SegmentLeft', key, `is no member, but ${lastIn(fact)}`)
      }
      for (const each of [known, last, moving]) each.clear()
    },
  }
}

function lastIn(fact: SegmentFact | undefined): string {
  return fact ? `the last record is ${fact.type} ${fact.id} of ${fact.at}` : 'has no record'
}
