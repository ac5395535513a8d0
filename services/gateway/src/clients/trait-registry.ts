import {
  type Claim,
  ClaimAnswer,
  type ClaimVerdict,
  DefinitionsAnswer,
  type DefinitionsQuery,
  RoomAnswer,
  type RoomQuestion,
} from '@nextvisit/contracts'
import { LRUCache } from 'lru-cache'
import { createBatchedCall } from './batched-call.ts'
import type { ServiceClient } from './service-client.ts'

const MAX_KNOWN_NAMES = 200_000

type NameSpace = Pick<Claim, 'organization' | 'project' | 'kind'>
/** Where the project has no cap, there is no limit. */
type CappedEvent = Omit<RoomQuestion, 'limit'> & Pick<Claim, 'limit'>

/** Verdicts by slug, for the slugs that were not known already; or `unchecked`: trait-registry did not say in time. */
export type Claimed =
  | { readonly outcome: 'claimed'; readonly verdicts: ReadonlyMap<string, ClaimVerdict> }
  | { readonly outcome: 'unchecked' }

export type TraitRegistry = ReturnType<typeof createTraitRegistry>

/** Trait-registry: claims of names that are new, and the definitions of traits and events. */
export function createTraitRegistry({ call, stop }: ServiceClient) {
  const known = new LRUCache<string, true>({ max: MAX_KNOWN_NAMES })
  const isKnown = (space: NameSpace, slug: string) => known.get(keyOf(space, slug)) !== undefined
  const ask = createBatchedCall<Claim, readonly ClaimVerdict[]>({
    bytesOf: bytesAsJson,
    ask: async (claims, deadlineAt) => {
      const called = await call('claim', { claims }, ClaimAnswer, deadlineAt)
      return called.outcome === 'answered' ? called.answer.verdicts : []
    },
  })
  const askRoom = createBatchedCall<RoomQuestion, boolean>({
    bytesOf: bytesAsJson,
    keyOf: ({ organization, project, slug, limit }) => JSON.stringify([organization, project, slug, limit]),
    ask: async (events, deadlineAt) => {
      const called = await call('findRoom', { events }, RoomAnswer, deadlineAt)
      return called.outcome === 'answered' ? called.answer.hasRoom : []
    },
  })
  return {
    stop,
    /**
     * Claims those of the slugs that this gateway does not know, in their order. Of a possible repeat all of them: its
     * first may be the one that made them known, and a repeat is answered like the first.
     */
    claim: async (claim: Claim, deadlineAt: number, mayBeRepeat = false): Promise<Claimed> => {
      const slugs = claim.slugs.filter(({ slug }) => mayBeRepeat || !isKnown(claim, slug))
      if (slugs.length === 0) return { outcome: 'claimed', verdicts: new Map() }
      const asked = await ask({ ...claim, slugs }, deadlineAt)
      if (asked.outcome === 'away' || asked.answer.length !== slugs.length) return { outcome: 'unchecked' }
      const { answer } = asked
      const verdicts = new Map(slugs.map(({ slug }, index) => [slug, answer[index] ?? 'claimed']))
      return { outcome: 'claimed', verdicts }
    },
    /** Whether the cap refuses an event now, where trait-registry can say so. Claims nothing. */
    isRefusedByCap: async ({ limit, ...event }: CappedEvent, deadlineAt: number): Promise<boolean> => {
      if (limit === undefined || isKnown({ ...event, kind: 'event' }, event.slug)) return false
      const asked = await askRoom({ ...event, limit }, deadlineAt)
      return asked.outcome === 'answered' && !asked.answer
    },
    /** To be called only after the ack of a record that carried the names (design.md, Trait-registry). */
    remember: (space: NameSpace, slugs: Iterable<string>) => {
      for (const slug of slugs) known.set(keyOf(space, slug), true)
    },
    readDefinitions: (query: DefinitionsQuery, deadlineAt: number) =>
      call('readDefinitions', query, DefinitionsAnswer, deadlineAt),
  }
}

/** Ids hold no `/`, so the slug may hold anything. */
function keyOf({ organization, project, kind }: NameSpace, slug: string): string {
  return `${organization}/${project}/${kind}/${slug}`
}

function bytesAsJson(question: object): number {
  return Buffer.byteLength(JSON.stringify(question))
}
