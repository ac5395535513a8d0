import type { Catalog } from './catalog.ts'
import { holds, type Moment } from './condition.ts'
import { userKey } from './facts.ts'
import type { Findings } from './findings.ts'
import { OF_RANGE, type UserRange } from './model.ts'
import type { Snapshot } from './snapshot.ts'

export interface SegmentsOptions {
  readonly snapshot: Snapshot
  readonly range: UserRange
  readonly catalog: Catalog
  /** What the log says of a user; undefined where it does not tell. */
  readonly stateOf: (userKey: string) => Omit<Moment, 'at' | 'segments'> | undefined
  readonly findings: Findings
}

interface UserRow {
  readonly organization: string
  readonly project: string
  readonly userId: string
  /** The instant that the user's segments were computed for, and the revision that they are of. */
  readonly asOf: Date
  readonly revision: number
  readonly segments: readonly string[]
}

/** The definitions that a user was computed with are those of the catalog's revision that was the latest to have them. */
const USERS = `
  SELECT organization, project, user_id AS "userId", as_of AS "asOf", revision, ARRAY(
    SELECT segment_id FROM segment_members AS member
    WHERE (member.organization, member.project, member.user_id) = (users.organization, users.project, users.user_id)
  ) AS segments
  FROM users JOIN (
    SELECT organization, project, definitions, max(revision) AS revision FROM segment_progress GROUP BY 1, 2, 3
  ) AS computed USING (organization, project, definitions)
  ${OF_RANGE} AND as_of IS NOT NULL`

/** Evaluates every segment's tree once more, for each user as of the instant that their membership is of. */
export async function compareSegments({ snapshot, range, catalog, stateOf, findings }: SegmentsOptions): Promise<void> {
  for await (const row of snapshot.rows<UserRow>(USERS, [range.first, range.last])) {
    const { organization, project, asOf, revision } = row
    const key = userKey(row)
    const state = stateOf(key)
    const segments = catalog.project(organization, project, revision)?.segments ?? new Map()
    if (!state) continue
    const moment = { ...state, at: asOf.getTime(), segments }
    const found = new Set(row.segments)
    for (const [id, where] of segments) {
      const isIn = holds(where, moment)
      if (isIn && !found.has(id)) findings.add('users.segment_members: missing', key, `is not in ${id}, and should be`)
      if (!isIn && found.has(id)) findings.add('users.segment_members: wrong', key, `is in ${id}, and should not be`)
    }
    for (const id of found) {
      if (!segments.has(id)) findings.add('users.segment_members: wrong', key, `is in ${id}, which there is not`)
    }
  }
}

interface CountRow {
  readonly organization: string
  readonly project: string
  readonly segmentId: string
  readonly counted: string
  readonly members: string
}

/** How many are in each segment, against its members one by one. */
export async function compareSegmentCounts({ rows }: Snapshot, findings: Findings): Promise<void> {
  const wrong = rows<CountRow>(`
    SELECT organization, project, segment_id AS "segmentId", coalesce(counted, 0) AS counted, coalesce(members, 0) AS members
    FROM (SELECT organization, project, segment_id, sum(members) AS counted FROM segment_counts GROUP BY 1, 2, 3) AS counts
    FULL JOIN (SELECT organization, project, segment_id, count(*) AS members FROM segment_members GROUP BY 1, 2, 3) AS each
      USING (organization, project, segment_id)
    WHERE coalesce(counted, 0) <> coalesce(members, 0)`)
  for await (const { organization, project, segmentId, counted, members } of wrong) {
    findings.add(
      'users.segment_counts: members',
      `${organization}/${project}/${segmentId}`,
      `${counted} instead of ${members}`,
    )
  }
}
