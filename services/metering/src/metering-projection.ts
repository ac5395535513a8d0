import { type EventTracked, type IdentifyRequested, TOPICS, UserFact } from '@nextvisit/contracts'
import { unlessEmpty } from '@nextvisit/database'
import { customTraitSlugs, idempotentRecordOf } from '@nextvisit/domain'
import type { Projection } from '@nextvisit/projection'
import { type CounterKey, counterOf, monthOf } from './counter.ts'
import {
  countEvents,
  countMembers,
  dropUnfolded,
  findUnfolded,
  RESERVATION_LIFETIME_MS,
  settle,
  type Unit,
} from './ledger.ts'
import { addUniqueNames, addUsage, type UsageDelta, type UsedName } from './usage-rows.ts'

/** What a batch adds. Keys are the rows' own, joined. */
export interface MeteringDraft {
  readonly counters: Map<string, CounterKey & { readonly events: number }>
  readonly eventUnits: Unit[]
  readonly memberUnits: Map<string, Unit>
  readonly usage: Map<string, UsageDelta>
  readonly names: Map<string, UsedName>
}

/**
 * The ledger behind the limits: folding a record deletes its reservation, lowers `pending` and raises `count` in the
 * transaction that moves the checkpoint, so nothing is counted twice or lost. Counters are shared by all partitions:
 * everything here adds, nothing is read first.
 */
export const meteringProjection: Projection<UserFact, MeteringDraft> = {
  name: 'metering',
  topics: [TOPICS.userEvents],
  schema: UserFact,
  // Of what was imported only names count here, and each counts once by itself.
  idempotencyOf: (fact) => ('imported' in fact ? undefined : idempotentRecordOf(fact)),
  empty: () => ({ counters: new Map(), eventUnits: [], memberUnits: new Map(), usage: new Map(), names: new Map() }),

  evolve: (draft, { fact }) => {
    if (fact.type === 'EventTracked') foldEvent(draft, fact)
    if (fact.type === 'IdentifyRequested') foldIdentify(draft, fact)
    return draft
  },

  // The counters come first: their rows are the locks of the reservations below.
  save: ({ counters, eventUnits, memberUnits, usage, names }) => {
    const members = [...memberUnits.values()]
    return [
      ...unlessEmpty([...counters.values()], countEvents),
      ...unlessEmpty(members, countMembers),
      ...unlessEmpty([...eventUnits, ...members], settle),
      ...unlessEmpty([...usage.values()], addUsage),
      ...unlessEmpty([...names.values()], addUniqueNames),
    ]
  },

  due: (db, instant, { partitions }) => findUnfolded(db, partitions, deadlineAt(instant)),

  tick: async (_db, instant, { partition, isRebuild }) =>
    isRebuild ? [] : dropUnfolded(partition, deadlineAt(instant)),
}

/** What was reserved then or before and is not folded as of `instant` never will be. */
function deadlineAt(instant: Date): Date {
  return new Date(instant.getTime() - RESERVATION_LIFETIME_MS)
}

/**
 * Counts toward the organization's limit only where the gateway said so; an event is never an active user. Of what was
 * imported only its names count: they are registered, and take room (decisions.md, Import).
 */
function foldEvent(draft: MeteringDraft, fact: EventTracked): void {
  addName(draft, fact, 'event', fact.slug)
  if (fact.imported) return
  addToUsage(draft, fact, { events: 1 })
  if (!fact.metered) return
  const counter = counterOf('event', fact, monthOf(fact.received))
  addToCounter(draft, counter, 1)
  draft.eventUnits.push({ ...counter, unit: fact.id })
}

/** A user counts once a project and month, by either key, in both environments (decisions.md, Identify). */
function foldIdentify(draft: MeteringDraft, fact: IdentifyRequested): void {
  for (const slug of customTraitSlugs(fact.operations)) addName(draft, fact, 'trait', slug)
  if (fact.imported) return
  addToUsage(draft, fact, fact.source === 'sdk' ? { visits: 1 } : { identifies: 1 })
  const counter = counterOf('mau', fact, monthOf(fact.received))
  addToCounter(draft, counter, 0)
  draft.memberUnits.set(joined(...rowOf(counter), fact.userId), { ...counter, unit: fact.userId })
}

function addToCounter(draft: MeteringDraft, counter: CounterKey, events: number): void {
  const key = joined(...rowOf(counter))
  draft.counters.set(key, { ...counter, events: (draft.counters.get(key)?.events ?? 0) + events })
}

function addToUsage(
  draft: MeteringDraft,
  fact: EventTracked | IdentifyRequested,
  added: Partial<Pick<UsageDelta, 'events' | 'identifies' | 'visits'>>,
): void {
  const { organization, project, environment, received } = fact
  const month = monthOf(received)
  const key = joined(organization, project, month, environment)
  const { events = 0, identifies = 0, visits = 0 } = draft.usage.get(key) ?? {}
  draft.usage.set(key, {
    organization,
    project,
    month,
    environment,
    events: events + (added.events ?? 0),
    identifies: identifies + (added.identifies ?? 0),
    visits: visits + (added.visits ?? 0),
  })
}

function addName(
  draft: MeteringDraft,
  fact: EventTracked | IdentifyRequested,
  kind: UsedName['kind'],
  slug: string,
): void {
  const { organization, project } = fact
  const month = monthOf(fact.received)
  const key = joined(organization, project, kind, slug)
  const before = draft.names.get(key)
  if (!before || month < before.month) draft.names.set(key, { organization, project, kind, slug, month })
}

function rowOf({ organization, project, kind, month }: CounterKey): string[] {
  return [organization, project, kind, month]
}

/** The parts of a key hold no `/`, but for a slug, which comes last. */
function joined(...parts: readonly string[]): string {
  return parts.join('/')
}
