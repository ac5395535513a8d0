import type { CatalogView } from '@nextvisit/catalog'
import type { ProjectRef } from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import { CatalogBehindError } from './errors.ts'
import { segmentsOf } from './project-segments.ts'
import type { ProjectSegments } from './user-draft.ts'

/** A partition's users of a project that were computed with the same definitions. */
export interface ComputedUsers extends ProjectRef {
  readonly partition: number
  readonly definitions: string
}

/** Those that were computed with other definitions than the catalog at hand has. */
export interface OtherUsers {
  readonly stale: readonly ComputedUsers[]
  /** Computed under a later catalog than the one at hand: by somebody who knew better. */
  readonly ahead: readonly ComputedUsers[]
}

export async function findOtherUsers(db: Db, partitions: readonly number[], catalog: CatalogView): Promise<OtherUsers> {
  const current = [...catalog.projects()].flatMap(({ organization, project }) => {
    const { definitions } = segmentsOf(catalog, { organization, project }).index
    return definitions === '' ? [] : { organization, project, definitions }
  })
  const rows = await db.$queryRaw<(ComputedUsers & { revision: number })[]>(sql`
    SELECT partition, organization, project, definitions, (
      SELECT max(revision) FROM segment_progress AS other
      WHERE (other.organization, other.project, other.partition)
          = (computed.organization, computed.project, computed.partition) AND other.users > 0
    ) AS revision
    FROM segment_progress AS computed
    LEFT JOIN unnest(
      ${current.map((project) => project.organization)}::text[],
      ${current.map((project) => project.project)}::text[],
      ${current.map((project) => project.definitions)}::text[]
    ) AS current (organization, project, wanted) USING (organization, project)
    WHERE partition = ANY(${partitions}::int[]) AND users > 0 AND definitions <> coalesce(wanted, '')`)
  const isAhead = ({ organization, revision }: (typeof rows)[number]) => revision > catalog.revision(organization)
  return { stale: rows.filter((row) => !isAhead(row)), ahead: rows.filter(isAhead) }
}

/**
 * Those of these projects that have users in the partition who were computed with other definitions than these. Throws
 * {@link CatalogBehindError} where that was under a later catalog.
 */
export async function findMixedProjects(
  db: Db,
  partition: number,
  projects: readonly (ProjectRef & ProjectSegments)[],
): Promise<readonly ProjectRef[]> {
  const rows = await db.$queryRaw<(ProjectRef & { atHand: number; computedWith: number })[]>(sql`
    SELECT organization, project, at_hand AS "atHand", max(revision) AS "computedWith"
    FROM segment_progress
    JOIN unnest(
      ${projects.map((project) => project.organization)}::text[],
      ${projects.map((project) => project.project)}::text[],
      ${projects.map((project) => project.index.definitions)}::text[],
      ${projects.map((project) => project.revision)}::int[]
    ) AS current (organization, project, wanted, at_hand) USING (organization, project)
    WHERE partition = ${partition} AND users > 0
    GROUP BY organization, project, at_hand
    HAVING bool_or(definitions <> wanted)`)
  for (const row of rows) {
    if (row.computedWith > row.atHand) throw new CatalogBehindError(row, row.atHand, row.computedWith)
  }
  return rows
}
