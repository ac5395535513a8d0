import type { CatalogView, ReviewScope } from '@nextvisit/catalog'
import type { Compared } from '@nextvisit/consumer'
import type { ProjectRef } from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import { compileSegments, NO_SEGMENTS, projectKeyOf, type SegmentedUser } from '@nextvisit/domain'
import { segmentProgress } from './tables.ts'

/** A project's segments in one revision of the catalog. */
export type ProjectSegments = SegmentedUser['segments'] & { readonly revision: number }

/** Returns a project's segments in the present catalog; none if the project was removed. */
export function segmentsOf(catalog: CatalogView, { organization, project }: ProjectRef): ProjectSegments {
  const found = catalog.project(organization, project)
  return {
    index: found ? compileSegments(found.config) : NO_SEGMENTS,
    revision: found?.revision ?? catalog.revision(organization),
  }
}

/**
 * Users of this partition were computed with a later catalog than this process has. Nothing is folded until that catalog
 * arrives: otherwise their segments would go back to an older one.
 */
class CatalogBehindError extends Error {
  override readonly name = 'CatalogBehindError'
  readonly code = 'CATALOG_BEHIND'
  readonly retryable = true

  constructor({ organization, project }: ProjectRef, atHand: number, computedWith: number) {
    super(
      `The catalog at hand has revision ${atHand} of ${organization}, but segments of ${organization}/${project} were ` +
        `computed with revision ${computedWith}. Waiting for it.`,
    )
  }
}

/** A project's users in one partition. */
interface ProjectPartition extends ProjectRef {
  readonly partition: number
}

export function partitionKeyOf({ partition, ...project }: ProjectPartition): string {
  return `${partition}/${projectKeyOf(project)}`
}

/**
 * Reads the segments of these projects, by {@link partitionKeyOf}. Throws {@link CatalogBehindError} if users of a partition
 * were computed with a later catalog.
 */
export async function readProjectSegments(
  db: Db,
  asked: readonly ProjectPartition[],
  catalog: CatalogView,
): Promise<ReadonlyMap<string, ProjectSegments>> {
  const unique = new Map(asked.map((one) => [partitionKeyOf(one), one]))
  const found = new Map(Array.from(unique, ([key, project]) => [key, segmentsOf(catalog, project)]))
  const current = Array.from(unique.values(), (one) => ({ ...currentOf(catalog, one), partition: one.partition }))
  const columns = ['organization', 'project', 'definitions', 'partition'] as const
  const mixed = await db.$queryRaw<(ProjectPartition & { computedWith: number })[]>(sql`
    SELECT organization, project, partition, max(revision) AS "computedWith"
    FROM segment_progress
    JOIN ${segmentProgress.source('current', current, columns)} USING (organization, project, partition)
    WHERE users > 0
    GROUP BY organization, project, partition
    HAVING bool_or(segment_progress.definitions <> current.definitions)`)
  for (const { computedWith, ...one } of mixed) {
    const segments = found.get(partitionKeyOf(one)) ?? segmentsOf(catalog, one)
    if (computedWith > segments.revision) throw new CatalogBehindError(one, segments.revision, computedWith)
    found.set(partitionKeyOf(one), { ...segments, isMixed: true })
  }
  return found
}

function currentOf(catalog: CatalogView, { organization, project }: ProjectRef) {
  return { organization, project, definitions: segmentsOf(catalog, { organization, project }).index.fingerprint }
}

/** A partition's users of a project that were computed with the same segments, other ones than the catalog has. */
export interface OtherUsers extends ProjectPartition {
  readonly definitions: string
  /** Another process computed them with a later catalog. */
  readonly isAhead: boolean
}

/** Finds the users in these scopes that were computed with other segments. */
export async function findOtherUsers(
  db: Db,
  scopes: readonly ReviewScope[],
  catalog: CatalogView,
): Promise<Compared<OtherUsers>> {
  const rows = await readProgress(db, scopes)
  const computedWith = new Map<string, number>()
  for (const row of rows) {
    const key = partitionKeyOf(row)
    computedWith.set(key, Math.max(row.revision, computedWith.get(key) ?? 0))
  }
  const others = rows.filter((row) => row.definitions !== currentOf(catalog, row).definitions)
  const isAhead = (row: ProjectPartition) =>
    (computedWith.get(partitionKeyOf(row)) ?? 0) > catalog.revision(row.organization)
  return { unsettled: others.map((row) => ({ ...row, isAhead: isAhead(row) })) }
}

/** Reads rows by an index on partition and organization. */
async function readProgress(
  db: Db,
  scopes: readonly ReviewScope[],
): Promise<readonly (Omit<OtherUsers, 'isAhead'> & { readonly revision: number })[]> {
  if (scopes.length === 0) return []
  const whole = scopes.flatMap(({ partition, organization }) => (organization === undefined ? partition : []))
  const parts = scopes.flatMap(({ partition, organization }) =>
    organization === undefined ? [] : { partition, organization },
  )
  return db.$queryRaw(sql`
    SELECT partition, organization, project, definitions, revision FROM segment_progress
    WHERE partition = ANY(${whole}::int[]) AND users > 0
    UNION ALL
    SELECT partition, organization, project, definitions, revision FROM segment_progress
    JOIN ${segmentProgress.source('parts', parts, ['partition', 'organization'])} USING (partition, organization)
    WHERE users > 0`)
}
