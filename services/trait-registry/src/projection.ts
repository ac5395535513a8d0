import type { Projection, ProjectionParts, Recorded } from '@nextvisit/consumer'
import { type AnyActivityFact, type AnyUserFact, SealedUserFact, TOPICS } from '@nextvisit/contracts'
import { type RowOf, sql } from '@nextvisit/database'
import { type CarriedName, carriedNames, idempotentRecordOf } from '@nextvisit/domain'
import { CLAIM_LIFETIME_MS, dropUnusedClaims, hasClaimsUntil } from './claims.ts'
import { claims, definitionCounts, definitions } from './tables.ts'

/**
 * The additions of a batch: a row for each name and partition, by both. A record carries up to 250 names, nearly always the
 * same ones. A row for each record would cost many times as much as the decoding of the record.
 */
type Draft = Map<string, AddedName>

/** The columns of a name in both tables. */
type NameRows = RowOf<typeof definitions> & RowOf<typeof definitionCounts>
type AddedName = { -readonly [Column in keyof NameRows]: NameRows[Column] }

/**
 * Creates the projection of trait and event definitions. The fold of any record that carries a name registers the name and
 * ends its claim, whatever the record's verdict. Partitions share definitions, which are written only if they change.
 * Counts, which change with each record, are rows of a partition. Folds therefore wait for each other only if two bring in
 * the same new name at once.
 */
export function createProjection({
  countKeyPartitions,
}: Pick<ProjectionParts, 'countKeyPartitions'>): Projection<AnyUserFact, Draft> {
  return {
    name: 'trait-registry',
    topic: TOPICS.userEvents,
    schema: SealedUserFact,
    idempotencyOf: idempotentRecordOf,
    load: () => new Map(),
    evolve: {
      IdentifyRequested: addNames,
      EventTracked: addNames,
      AnswerGiven: 'ignored',
      VisitAnswered: 'ignored',
      UserErased: 'ignored',
    },

    // A registered name needs no claim any more.
    save: (draft) => {
      const added = [...draft.values()]
      return {
        statements: [
          ...definitions.upsert(added, { where: CHANGES_DEFINITION }),
          ...definitionCounts.upsert(added),
          ...claims.deleteByKeys(added),
        ],
      }
    },

    ticks: {
      due: async (db, instant, { partitions }) => {
        const deadline = new Date(instant.getTime() - CLAIM_LIFETIME_MS)
        return (await hasClaimsUntil(db, deadline)) ? partitions : []
      },
      tick: async (_db, instant, { partition, mode }) => ({
        statements: mode === 'live' ? dropUnusedClaims(partition, instant, await countKeyPartitions()) : [],
      }),
    },
  }
}

/**
 * Selects the rows that change a definition: nearly all records carry registered names only. The compared columns only
 * become less with time, so a row without effect now never has one.
 */
const CHANGES_DEFINITION = sql`NOT EXISTS (
  SELECT FROM definitions AS before
  WHERE (before.organization, before.project, before.kind, before.slug)
      = (given.organization, given.project, given.kind, given.slug)
    AND (before.first_seen_at, before.first_record_id) <= (given.first_seen_at, given.first_record_id)
    AND (given.registered_by IS NULL OR before.registered_by <= given.registered_by)
)`

function addNames(draft: Draft, { fact, partition }: Recorded<AnyActivityFact>): void {
  for (const name of carriedNames(fact)) addName(draft, fact, partition, name)
}

function addName(
  draft: Draft,
  { organization, project, received, id }: AnyActivityFact,
  partition: number,
  { kind, slug, name, isNew }: CarriedName,
): void {
  // Ids contain no slash, and the slug is the last part.
  const key = `${organization}/${project}/${partition}/${kind}/${slug}`
  const registeredBy = isNew ? id : null
  const first = { name, firstSeenAt: received, firstRecordId: id }
  const before = draft.get(key)
  if (!before) {
    const added = { organization, project, partition, kind, slug, count: 1, lastSeenAt: received, registeredBy }
    draft.set(key, { ...added, ...first })
    return
  }
  before.count += 1
  if (received > before.lastSeenAt) before.lastSeenAt = received
  if (isEarlier(first, before)) Object.assign(before, first)
  // Any of several will do. The least, so that a replay finds the same.
  if (registeredBy !== null && (before.registeredBy === null || registeredBy < before.registeredBy)) {
    before.registeredBy = registeredBy
  }
}

/** Compares by (received, id), like the table. */
function isEarlier(one: Pick<AddedName, 'firstSeenAt' | 'firstRecordId'>, other: typeof one): boolean {
  if (one.firstSeenAt !== other.firstSeenAt) return one.firstSeenAt < other.firstSeenAt
  return one.firstRecordId < other.firstRecordId
}
