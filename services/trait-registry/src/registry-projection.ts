import { type EventTracked, type IdentifyRequested, TOPICS, UserFact } from '@nextvisit/contracts'
import { type NewRow, sql } from '@nextvisit/database'
import { customTraitSlugs, idempotentRecordOf } from '@nextvisit/domain'
import type { Projection } from '@nextvisit/projection'
import { CLAIM_LIFETIME_MS, dropUnusedClaims, hasClaimsUntil } from './claims.ts'
import { claims, definitionCounts, definitions } from './tables.ts'

/** What a batch adds: a row for each name of each record. Rows of the same name are merged when they are written. */
export type RegistryDraft = (NewRow<typeof definitions> & NewRow<typeof definitionCounts>)[]

export interface RegistryProjectionOptions {
  /** Of `user-events`: a claim is dropped only when every partition is folded past its lifetime. */
  readonly countPartitions: () => Promise<number>
}

/**
 * The definitions of traits and events. Folding any record that carries a name registers it and ends its claim, whatever
 * verdict that record got. Definitions are shared by all partitions, and written only where they change; what changes with
 * each record is a row of its partition. So folds wait for each other only where two bring in a new name at once.
 */
export function createRegistryProjection(options: RegistryProjectionOptions): Projection<UserFact, RegistryDraft> {
  return {
    name: 'trait-registry',
    topics: [TOPICS.userEvents],
    schema: UserFact,
    idempotencyOf: idempotentRecordOf,
    empty: () => [],

    evolve: (draft, { fact, partition }) => {
      if (fact.type === 'EventTracked') {
        const { slug, eventName: name, newEvent: isNew } = fact
        draft.push(rowOf(fact, partition, { kind: 'event', slug, name, isNew }))
      }
      if (fact.type === 'IdentifyRequested') {
        for (const slug of customTraitSlugs(fact.operations)) {
          const isNew = fact.registeredTraits.includes(slug)
          draft.push(rowOf(fact, partition, { kind: 'trait', slug, name: slug, isNew }))
        }
      }
      return draft
    },

    // Names that are registered now need no claim any more, whoever held it.
    save: (draft) => [
      ...definitions.upsert(draft, { where: CHANGES_DEFINITION }),
      ...definitionCounts.upsert(draft),
      ...claims.deleteByKeys(draft),
    ],

    due: async (db, instant, { partitions }) => {
      const deadline = new Date(instant.getTime() - CLAIM_LIFETIME_MS)
      return (await hasClaimsUntil(db, deadline)) ? partitions : []
    },

    tick: async (_db, instant, { partition, isRebuild }) =>
      isRebuild ? [] : dropUnusedClaims(partition, instant, await options.countPartitions()),
  }
}

/**
 * Nearly all records carry names that earlier records have registered. What is compared only becomes less with time: a row
 * that changes nothing now never will.
 */
const CHANGES_DEFINITION = sql`NOT EXISTS (
  SELECT FROM definitions AS before
  WHERE (before.organization, before.project, before.kind, before.slug)
      = (given.organization, given.project, given.kind, given.slug)
    AND (before.first_seen_at, before.first_record_id) <= (given.first_seen_at, given.first_record_id)
    AND (given.registered_by IS NULL OR before.registered_by <= given.registered_by)
)`

interface CarriedName {
  readonly kind: 'trait' | 'event'
  readonly slug: string
  readonly name: string
  /** The record got the verdict `new` for it. */
  readonly isNew: boolean
}

function rowOf(
  { organization, project, received, id }: EventTracked | IdentifyRequested,
  partition: number,
  { isNew, ...name }: CarriedName,
): RegistryDraft[number] {
  const first = { firstSeenAt: received, firstRecordId: id, registeredBy: isNew ? id : null }
  return { organization, project, ...name, ...first, partition, count: 1, lastSeenAt: received }
}
