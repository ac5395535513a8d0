import { compareRows } from './compare-rows.ts'
import type { ClearEvent, ClearIdentify, ProjectRef } from './facts.ts'
import type { Model } from './model.ts'

interface Definition {
  name: string
  firstSeenAt: string
  firstRecordId: string
  lastSeenAt: string
  count: number
  /** Smallest id of the records with the verdict "new". */
  registeredBy: string | null
}

interface DefinitionRow extends ProjectRef {
  readonly kind: string
  readonly slug: string
}

/**
 * Creates the model of the trait registry's `definitions`, with the sums of `definition_counts`: all names in records,
 * with any verdict.
 */
export function createRegistryModel(): Model {
  const definitions = new Map<string, Definition>()

  const carry = (
    kind: 'trait' | 'event',
    slug: string,
    name: string,
    isNew: boolean,
    fact: ClearIdentify | ClearEvent,
  ) => {
    const key = `${fact.organization}/${fact.project}/${kind}/${slug}`
    const { received, id } = fact
    const before = definitions.get(key)
    const known = before ?? {
      name,
      firstSeenAt: received,
      firstRecordId: id,
      lastSeenAt: received,
      count: 0,
      registeredBy: null,
    }
    definitions.set(key, known)
    known.count += 1
    if (received > known.lastSeenAt) known.lastSeenAt = received
    if (received < known.firstSeenAt || (received === known.firstSeenAt && id < known.firstRecordId)) {
      Object.assign(known, { name, firstSeenAt: received, firstRecordId: id })
    }
    if (isNew && (known.registeredBy === null || id < known.registeredBy)) known.registeredBy = id
  }

  return {
    foldClear: (fact) => {
      if (fact.type === 'EventTracked') carry('event', fact.slug, fact.eventName, fact.newEvent, fact)
      if (fact.type !== 'IdentifyRequested') return
      const registered = new Set(fact.registeredTraits)
      for (const slug of fact.traits) carry('trait', slug, slug, registered.has(slug), fact)
    },

    compareShared: (snapshot, findings) =>
      compareRows({
        table: 'registry.definitions',
        expected: definitions,
        rows: snapshot.rows<DefinitionRow>(
          `SELECT organization, project, kind, slug, name, first_seen_at AS "firstSeenAt",
             first_record_id AS "firstRecordId", registered_by AS "registeredBy",
             "lastSeenAt", count
           FROM definitions FULL JOIN (
             SELECT organization, project, kind, slug, max(last_seen_at) AS "lastSeenAt", sum(count)::bigint AS count
             FROM definition_counts GROUP BY organization, project, kind, slug
           ) AS counted USING (organization, project, kind, slug)`,
        ),
        keyOf: ({ organization, project, kind, slug }) => `${organization}/${project}/${kind}/${slug}`,
        findings,
      }),
  }
}
