import type { Claim, ClaimVerdict, RoomQuestion } from '@nextvisit/contracts'
import { LRUCache } from 'lru-cache'
import type { BatchedCall } from './batched-call.ts'

const MAX_KNOWN_NAMES = 200_000

type Place = Pick<Claim, 'organization' | 'project' | 'kind'>
/** Where the project has no cap, there is no limit. */
type CappedEvent = Omit<RoomQuestion, 'limit'> & Pick<Claim, 'limit'>

/** Verdicts by slug, for the slugs that were not known already; or nothing where trait-registry is away. */
export type Claimed =
  | { readonly outcome: 'claimed'; readonly verdicts: ReadonlyMap<string, ClaimVerdict> }
  | { readonly outcome: 'unchecked' }

export interface NameClaims {
  /**
   * Claims those of the slugs that this gateway does not know, in their order. Of what may be a repeat all of them: its
   * first may be the one that made them known, and it is answered like the first.
   */
  readonly claim: (claim: Claim, deadlineAt: number, mayBeRepeat?: boolean) => Promise<Claimed>
  /** Whether the cap refuses an event now, where that can be told. Claims nothing. */
  readonly isRefused: (event: CappedEvent, deadlineAt: number) => Promise<boolean>
  /** To be called only after the ack of a record that carried them (design.md, Trait-registry). */
  readonly remember: (place: Place, slugs: Iterable<string>) => void
}

export function createNameClaims(
  ask: BatchedCall<Claim, readonly ClaimVerdict[]>,
  askRoom: BatchedCall<RoomQuestion, boolean>,
): NameClaims {
  const known = new LRUCache<string, true>({ max: MAX_KNOWN_NAMES })
  const isKnown = (place: Place, slug: string) => known.get(keyOf(place, slug)) !== undefined
  return {
    claim: async (claim, deadlineAt, mayBeRepeat = false) => {
      const slugs = claim.slugs.filter(({ slug }) => mayBeRepeat || !isKnown(claim, slug))
      if (slugs.length === 0) return { outcome: 'claimed', verdicts: new Map() }
      const asked = await ask({ ...claim, slugs }, deadlineAt)
      if (asked.outcome === 'away' || asked.answer.length !== slugs.length) return { outcome: 'unchecked' }
      const { answer } = asked
      return {
        outcome: 'claimed',
        verdicts: new Map(slugs.map(({ slug }, index) => [slug, answer[index] ?? 'claimed'])),
      }
    },
    isRefused: async ({ limit, ...event }, deadlineAt) => {
      if (limit === undefined || isKnown({ ...event, kind: 'event' }, event.slug)) return false
      const asked = await askRoom({ ...event, limit }, deadlineAt)
      return asked.outcome === 'answered' && !asked.answer
    },
    remember: (place, slugs) => {
      for (const slug of slugs) known.set(keyOf(place, slug), true)
    },
  }
}

/** Ids hold no `/`, so the slug may hold anything. */
function keyOf({ organization, project, kind }: Place, slug: string): string {
  return `${organization}/${project}/${kind}/${slug}`
}
