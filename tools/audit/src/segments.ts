import { isDeepStrictEqual } from 'node:util'
import type { Catalog } from './catalog.ts'
import { holds, type Moment } from './condition.ts'
import { type UserRef, userKey } from './facts.ts'
import type { Findings } from './findings.ts'
import { OF_RANGE, type UserRange } from './model.ts'
import type { Snapshot } from './snapshot.ts'
import type { Condition } from './workspace-file.ts'

interface SegmentsOptions {
  readonly snapshot: Snapshot
  readonly range: UserRange
  readonly catalog: Catalog
  /** True if the effects of time and of the catalog's latest revision must be visible, too. */
  readonly isAtRest: boolean
  /** Returns the state of a user according to the log; undefined if the log does not determine it. */
  readonly stateOf: (userKey: string) => Omit<Moment, 'at' | 'segments'> | undefined
  readonly findings: Findings
}

interface UserRow extends UserRef {
  /** Instant for which the user's segments were computed; null: never. */
  readonly asOf: string | null
  readonly revision: number
  readonly segments: readonly string[]
  /** True if time should have changed them more than a minute ago. */
  readonly isOverdue: boolean
}

/** Query for users and their segments, with the latest catalog revision that has their definitions. */
const USERS = `
  SELECT organization, project, user_id AS "userId", as_of AS "asOf", coalesce(revision, 0) AS revision, ARRAY(
    SELECT segment_id FROM segment_members AS member
    WHERE (member.organization, member.project, member.user_id) = (users.organization, users.project, users.user_id)
  ) AS segments, coalesce(changes_at < now() - interval '1 minute', false) AS "isOverdue"
  FROM users LEFT JOIN (
    SELECT organization, project, definitions, max(revision) AS revision FROM segment_progress GROUP BY 1, 2, 3
  ) AS computed USING (organization, project, definitions)
  ${OF_RANGE}`

type Segments = ReadonlyMap<string, Condition>

/** Evaluates every segment again for each user, as of the instant of their membership. */
export async function compareSegments(options: SegmentsOptions): Promise<void> {
  const { snapshot, range, catalog, isAtRest, stateOf, findings } = options
  const segmentsOf = ({ organization, project }: UserRow, revision: number): Segments =>
    catalog.project(organization, project, revision)?.segments ?? new Map()

  for await (const row of snapshot.rows<UserRow>(USERS, [range.first, range.last])) {
    const key = userKey(row)
    if (isAtRest && row.isOverdue)
      findings.add('users.users: changes_at', key, 'should have changed more than a minute ago')
    if (!catalog.isKnown(row.organization, row.revision)) continue
    const segments = segmentsOf(row, row.revision)
    if (isAtRest && !isSame(segments, segmentsOf(row, catalog.latest(row.organization)))) {
      findings.add('users.users: definitions', key, `are those of revision ${row.revision}, which is not the latest`)
    }
    const state = stateOf(key)
    if (state) compareMembership(row, segments, state, findings)
  }
}

function compareMembership(
  row: UserRow,
  segments: Segments,
  state: Omit<Moment, 'at' | 'segments'>,
  findings: Findings,
): void {
  const key = userKey(row)
  const found = new Set(row.segments)
  const { asOf } = row
  if (asOf) {
    for (const [id, where] of segments) {
      const isIn = holds(where, { ...state, at: Date.parse(asOf), segments })
      if (isIn && !found.has(id)) findings.add('users.segment_members: missing', key, `is not in ${id}, but should be`)
      if (!isIn && found.has(id)) findings.add('users.segment_members: wrong', key, `is in ${id}, but should not be`)
    }
  }
  for (const id of found) {
    if (!asOf) findings.add('users.segment_members: wrong', key, `is in ${id}, but was never computed`)
    else if (!segments.has(id)) findings.add('users.segment_members: wrong', key, `is in ${id}, which does not exist`)
  }
}

/** Compares definitions independently of the order of segments and of their members. */
function isSame(one: Segments, other: Segments): boolean {
  return one === other || isDeepStrictEqual(one, other)
}

/** Compares each segment's count with the number of its members. */
export async function compareSegmentCounts({ rows }: Snapshot, findings: Findings): Promise<void> {
  const wrong = rows<Record<'organization' | 'project' | 'segmentId' | 'counted' | 'members', string>>(`
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
