import { type EventTracked, type IdentifyRequested, TOPICS, UserFact } from '@nextvisit/contracts'
import type { NewRow } from '@nextvisit/database'
import { customTraitSlugs, idempotentRecordOf } from '@nextvisit/domain'
import type { Projection } from '@nextvisit/projection'
import { CLAIM_LIFETIME_MS, dropUnusedClaims, hasClaimsUntil } from './claims.ts'
import { claims, definitions } from './tables.ts'

/** What a batch adds: a row for each name of each record. Rows of the same name are merged when they are written. */
export type RegistryDraft = NewRow<typeof definitions>[]

export interface RegistryProjectionOptions {
  /** Of `user-events`: a claim is dropped only when every partition is folded past its lifetime. */
  readonly countPartitions: () => Promise<number>
}

/**
 * The definitions of traits and events. Folding any record that carries a name registers it and ends its claim, whatever
 * verdict that record got. Rows are shared by all partitions: everything here adds, nothing is read first.
 */
export function createRegistryProjection(options: RegistryProjectionOptions): Projection<UserFact, RegistryDraft> {
  return {
    name: 'trait-registry',
    topics: [TOPICS.userEvents],
    schema: UserFact,
    idempotencyOf: idempotentRecordOf,
    empty: () => [],

    evolve: (draft, { fact }) => {
      if (fact.type === 'EventTracked') {
        draft.push(rowOf(fact, { kind: 'event', slug: fact.slug, name: fact.eventName, isNew: fact.newEvent }))
      }
      if (fact.type === 'IdentifyRequested') {
        for (const slug of customTraitSlugs(fact.operations)) {
          draft.push(rowOf(fact, { kind: 'trait', slug, name: slug, isNew: fact.registeredTraits.includes(slug) }))
        }
      }
      return draft
    },

    // Names that are registered now need no claim any more, whoever held it.
    save: (draft) => [...definitions.upsert(draft), ...claims.deleteByKeys(draft)],

    due: async (db, instant, { partitions }) => {
      const deadline = new Date(instant.getTime() - CLAIM_LIFETIME_MS)
      return (await hasClaimsUntil(db, deadline)) ? partitions : []
    },

    tick: async (_db, instant, { partition, isRebuild }) =>
      isRebuild ? [] : dropUnusedClaims(partition, instant, await options.countPartitions()),
  }
}

interface CarriedName {
  readonly kind: 'trait' | 'event'
  readonly slug: string
  readonly name: string
  /** The record got the verdict `new` for it. */
  readonly isNew: boolean
}

function rowOf(
  { organization, project, received, id }: EventTracked | IdentifyRequested,
  { isNew, ...name }: CarriedName,
): RegistryDraft[number] {
  const seen = { firstSeenAt: received, firstRecordId: id, lastSeenAt: received }
  return { organization, project, ...name, ...seen, count: 1, registeredBy: isNew ? id : null }
}
