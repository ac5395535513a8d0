import { type EventTracked, type IdentifyRequested, TOPICS, UserFact } from '@nextvisit/contracts'
import { customTraitSlugs, idempotentRecordOf } from '@nextvisit/domain'
import type { Projection } from '@nextvisit/projection'
import { CLAIM_LIFETIME_MS, deleteClaims, dropUnriddenClaims, hasClaimsUntil, markTick } from './claim-rows.ts'
import { addDefinitions, type DefinitionDelta } from './definition-rows.ts'

/** What a batch adds, by the definition's key. */
export type RegistryDraft = Map<string, DefinitionDelta>

export interface RegistryProjectionOptions {
  /** Of `user-events`: a claim is dropped only when every one of them has been looked at. */
  readonly countPartitions: () => Promise<number>
}

/**
 * The definitions of traits and events. Folding any record that carries a name registers it and ends its claim, whatever
 * that record's own verdict said. Rows are shared by partitions: everything here adds, nothing is read first.
 */
export function createRegistryProjection(options: RegistryProjectionOptions): Projection<UserFact, RegistryDraft> {
  return {
    name: 'trait-registry',
    topics: [TOPICS.userEvents],
    schema: UserFact,
    idempotencyOf: idempotentRecordOf,
    empty: () => new Map(),

    evolve: (draft, { fact }) => {
      if (fact.type === 'EventTracked') {
        const { slug, eventName: name, newEvent: isNew } = fact
        addName(draft, fact, { kind: 'event', slug, name, isNew })
      }
      if (fact.type === 'IdentifyRequested') {
        for (const slug of customTraitSlugs(fact.operations))
          addName(draft, fact, { kind: 'trait', slug, name: slug, isNew: fact.registeredTraits.includes(slug) })
      }
      return draft
    },

    save: (draft) => {
      const deltas = [...draft.values()]
      return deltas.length > 0 ? [addDefinitions(deltas), deleteClaims(deltas)] : []
    },

    due: async (db, instant, { partitions }) => {
      const deadline = new Date(instant.getTime() - CLAIM_LIFETIME_MS)
      return (await hasClaimsUntil(db, deadline)) ? partitions : []
    },

    tick: async (_db, instant, { partition, isRebuild }) =>
      isRebuild ? [] : [markTick(partition, instant), dropUnriddenClaims(partition, await options.countPartitions())],
  }
}

function addName(
  draft: RegistryDraft,
  fact: EventTracked | IdentifyRequested,
  { kind, slug, name, isNew }: Pick<DefinitionDelta, 'kind' | 'slug' | 'name'> & { readonly isNew: boolean },
): void {
  const { organization, project, received, id } = fact
  const key = `${organization}/${project}/${kind}/${slug}`
  const before = draft.get(key)
  const own = { organization, project, kind, slug, name, firstSeenAt: received, firstRecordId: id }
  const earliest = before && isEarlier(before, own) ? before : own
  // Of several, which can be where a publish was not heard of, any: the rows take the least.
  const broughtBy = isNew && !(before?.broughtBy && before.broughtBy < id) ? id : before?.broughtBy
  const lastSeenAt = before && before.lastSeenAt > received ? before.lastSeenAt : received
  draft.set(key, { ...earliest, lastSeenAt, count: (before?.count ?? 0) + 1, broughtBy })
}

type Earliest = Pick<DefinitionDelta, 'firstSeenAt' | 'firstRecordId'>

/** By (received, id), as the rows are. */
function isEarlier(a: Earliest, b: Earliest): boolean {
  return a.firstSeenAt === b.firstSeenAt ? a.firstRecordId < b.firstRecordId : a.firstSeenAt < b.firstSeenAt
}
