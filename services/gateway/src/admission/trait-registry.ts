import { type Claim, type ClaimVerdict, MAX_CLAIMED_NAMES, type traitRegistryCalls } from '@nextvisit/contracts'
import { type BatchedOutcome, createBatchedCall, type ServiceClient } from '@nextvisit/service-kit'
import { LRUCache } from 'lru-cache'

const MAX_KNOWN_NAMES = 200_000

type NameSpace = Pick<Claim, 'organization' | 'project' | 'kind'>

/** Result of a claim. `claimed`: the verdicts by slug, for slugs that are not cached as known. */
export type ClaimResult =
  | { readonly outcome: 'claimed'; readonly verdicts: ReadonlyMap<string, ClaimVerdict> }
  /** The trait registry did not answer in time. */
  | { readonly outcome: 'unchecked' }
  /** The organization asks for too many names at once. */
  | { readonly outcome: 'crowded' }

export type TraitRegistry = ReturnType<typeof createTraitRegistry>

/** Admission's questions to trait-registry: claims of new names. */
export function createTraitRegistry({ admission }: Pick<ServiceClient<typeof traitRegistryCalls>, 'admission'>) {
  const known = new LRUCache<string, true>({ max: MAX_KNOWN_NAMES })
  const isKnown = (space: NameSpace, slug: string) => known.get(keyOf(space, slug)) !== undefined
  const sizes = {
    tenantOf: ({ organization }: NameSpace) => organization,
    weightOf: ({ slugs }: { readonly slugs: readonly string[] }) => slugs.length,
    maxWeight: MAX_CLAIMED_NAMES,
    bytesOf: bytesAsJson,
  }
  const askClaim = createBatchedCall(admission.claim, sizes)
  const askRelease = createBatchedCall(admission.releaseClaims, sizes)

  return {
    /**
     * Claims the slugs that this gateway does not know, in their order. A possible repeat claims all of its slugs: the
     * first request may have made them known, and a repeat gets the same answer.
     */
    claim: async (claim: Claim, deadlineAt: number, mayBeRepeat = false): Promise<ClaimResult> => {
      const slugs = claim.slugs.filter((slug) => mayBeRepeat || !isKnown(claim, slug))
      if (slugs.length === 0) return { outcome: 'claimed', verdicts: new Map() }
      const asked = await askClaim({ ...claim, slugs }, deadlineAt)
      if (asked.outcome === 'crowded') return asked
      const answer = answerOf(asked)
      if (answer?.length !== slugs.length) return { outcome: 'unchecked' }
      return { outcome: 'claimed', verdicts: new Map(slugs.map((slug, index) => [slug, answer[index] ?? 'claimed'])) }
    },
    /**
     * Gives back the names of a record that certainly was not published. If the call is lost, the trait registry
     * expires the claim. Resolves once they are given back, or at the deadline; never rejects.
     */
    release: async (
      { organization, project, kind, recordId, slugs: claimed }: Claim,
      deadlineAt?: number,
    ): Promise<void> => {
      const slugs = claimed.filter((slug) => !isKnown({ organization, project, kind }, slug))
      if (slugs.length > 0) await askRelease({ organization, project, kind, recordId, slugs }, deadlineAt)
    },
    /** Returns true if the trait registry says that the cap refuses the names now. Claims nothing. */
    isRefusedByCap: async (claim: Claim, deadlineAt: number): Promise<boolean> => {
      if (claim.slugs.every((slug) => isKnown(claim, slug))) return false
      const verdicts = answerOf(await askClaim({ ...claim, dryRun: true }, deadlineAt))
      return verdicts?.includes('no-room') === true
    },
    /** Caches names as known. Call it only after the ack of a record that carried them (design.md, Trait registry). */
    remember: (space: NameSpace, slugs: Iterable<string>) => {
      for (const slug of slugs) known.set(keyOf(space, slug), true)
    },
  }
}

function answerOf<Answer>(asked: BatchedOutcome<Answer>): Answer | undefined {
  return asked.outcome === 'answered' ? asked.answer : undefined
}

/** Ids hold no `/`, so the slug may hold anything. */
function keyOf({ organization, project, kind }: NameSpace, slug: string): string {
  return `${organization}/${project}/${kind}/${slug}`
}

function bytesAsJson(question: object): number {
  return Buffer.byteLength(JSON.stringify(question))
}
