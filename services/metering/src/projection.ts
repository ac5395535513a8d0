import type { Projection } from '@nextvisit/consumer'
import { type AnyActivityFact, type AnyUserFact, SealedUserFact, TOPICS } from '@nextvisit/contracts'
import { type NewRow, sql } from '@nextvisit/database'
import { carriedNames, idempotentRecordOf, monthOf } from '@nextvisit/domain'
import { fulfilLeased } from './leases.ts'
import {
  counterOf,
  countMembers,
  dropUnfolded,
  findUnfolded,
  type FoldedUnit,
  fulfil,
  RESERVATION_LIFETIME_MS,
} from './ledger.ts'
import { counters, uniqueNames, usage } from './tables.ts'

/** The additions of a batch. Rows of a key are merged when written; names, of which a record may carry 250, when folded. */
interface Draft {
  /** Every counter that the batch may touch, with the number of its metered events. */
  readonly counted: NewRow<typeof counters>[]
  readonly eventUnits: FoldedUnit[]
  /** Units of the leases that events name. */
  readonly leasedUnits: FoldedUnit[]
  readonly memberUnits: FoldedUnit[]
  readonly used: NewRow<typeof usage>[]
  /** By organization, project, kind and slug. */
  readonly names: Map<string, NewRow<typeof uniqueNames>>
}

/**
 * Creates the ledger behind the limits. The fold of a record deletes its reservation and raises `count` and `fulfilled`, in the
 * transaction that moves the checkpoint: no unit is lost or counted twice. Counters are rows of a partition. Folds of two
 * partitions wait for each other only if both bring in the same new name.
 */
export function createProjection(): Projection<AnyUserFact, Draft> {
  return {
    name: 'metering',
    topic: TOPICS.userEvents,
    schema: SealedUserFact,
    // Imported records only add names, and each name counts once anyway.
    idempotencyOf: (fact) => ('imported' in fact ? undefined : idempotentRecordOf(fact)),
    load: emptyDraft,

    // Imported facts only add names, which are registered and take room (decisions.md, Import).
    evolve: {
      EventTracked: (draft, { fact, partition }) => {
        addNames(draft, fact)
        if (!fact.imported) foldEvent(draft, fact, partition)
      },
      IdentifyRequested: (draft, { fact, partition }) => {
        addNames(draft, fact)
        if (!fact.imported) foldIdentify(draft, fact, partition)
      },
      AnswerGiven: 'ignored',
      VisitAnswered: 'ignored',
      UserErased: 'ignored',
    },

    // The counters come first: the next statements change their rows.
    save: ({ counted, eventUnits, leasedUnits, memberUnits, used, names }) => ({
      statements: [
        ...counters.upsert(counted),
        ...countMembers(memberUnits),
        ...fulfil([...eventUnits, ...memberUnits]),
        ...fulfilLeased(leasedUnits),
        ...usage.upsert(used),
        ...uniqueNames.upsert([...names.values()], { where: IS_NEW_NAME }),
      ],
    }),

    ticks: {
      due: (db, instant, { partitions }) => findUnfolded(db, partitions, deadlineAt(instant)),
      tick: async (_db, instant, { partition, mode }) => ({
        statements: mode === 'live' ? dropUnfolded(partition, deadlineAt(instant)) : [],
      }),
    },
  }
}

export function emptyDraft(): Draft {
  return { counted: [], eventUnits: [], leasedUnits: [], memberUnits: [], used: [], names: new Map() }
}

/** Selects new names. Nearly all names are known: their rows are neither written nor locked. */
const IS_NEW_NAME = sql`NOT EXISTS (
  SELECT FROM unique_names AS before
  WHERE (before.organization, before.project, before.kind, before.slug)
      = (given.organization, given.project, given.kind, given.slug) AND before.first_month <= given.first_month
)`

/** Returns the deadline of reservations: older ones that are not folded as of `instant` never will be. */
function deadlineAt(instant: Date): Date {
  return new Date(instant.getTime() - RESERVATION_LIFETIME_MS)
}

/** Counts an event toward the organization's limit if the gateway metered it. An event is never an active user. */
function foldEvent(draft: Draft, fact: AnyUserFact<'EventTracked'>, partition: number): void {
  const { organization, project, environment, received, id } = fact
  const month = monthOf(received)
  draft.used.push({ organization, project, month, environment, partition, events: 1, identifies: 0, visits: 0 })
  if (!fact.metered) return
  const counter = { ...counterOf('event', fact, month), partition }
  draft.counted.push({ ...counter, count: 1, fulfilled: 0 })
  // A record that may come twice may have reserved room the first time and used a lease the second time.
  if (!fact.lease || fact.keyed) draft.eventUnits.push({ ...counter, unit: id })
  if (fact.lease) draft.leasedUnits.push({ ...counter, unit: fact.lease })
}

/** Counts a user once a project and month, with either key, in both environments (decisions.md, Identify). */
function foldIdentify(draft: Draft, fact: AnyUserFact<'IdentifyRequested'>, partition: number): void {
  const { organization, project, environment, received, userId } = fact
  const month = monthOf(received)
  const [identifies, visits] = fact.source === 'sdk' ? [0, 1] : [1, 0]
  draft.used.push({ organization, project, month, environment, partition, events: 0, identifies, visits })
  const counter = { ...counterOf('mau', fact, month), partition }
  draft.counted.push({ ...counter, count: 0, fulfilled: 0 })
  draft.memberUnits.push({ ...counter, unit: userId })
}

function addNames({ names }: Draft, fact: AnyActivityFact): void {
  const { organization, project, received } = fact
  const firstMonth = monthOf(received)
  for (const { kind, slug } of carriedNames(fact)) {
    // Ids contain no slash, and the slug is the last part.
    const key = `${organization}/${project}/${kind}/${slug}`
    const before = names.get(key)
    if (!before || firstMonth < before.firstMonth) names.set(key, { organization, project, kind, slug, firstMonth })
  }
}
