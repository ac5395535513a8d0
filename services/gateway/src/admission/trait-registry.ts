import { type Claim, type ClaimVerdict, MAX_CLAIMED_NAMES, type traitRegistryCalls } from '@nextvisit/contracts'
import { createBatchedCall, type ServiceClient } from '@nextvisit/service-kit'
import { LRUCache } from 'lru-cache'
import { silentAfterMs } from './admission-budget.ts'
import { type NoVerdict, verdictOf } from './verdicts.ts'

const MAX_KNOWN_NAMES = 200_000

type NameSpace = Pick<Claim, 'organization' | 'project' | 'kind'>

/** The verdicts by slug, for slugs that are not cached as known. */
export type ClaimResult = ReadonlyMap<string, ClaimVerdict> | NoVerdict

export type TraitRegistry = ReturnType<typeof createTraitRegistry>

/** Admission's questions to trait-registry: claims of new names. */
export function createTraitRegistry(
  { admission }: Pick<ServiceClient<typeof traitRegistryCalls>, 'admission'>,
  requestBudgetMs: number,
) {
  const known = new LRUCache<string, true>({ max: MAX_KNOWN_NAMES })
  const isKnown = (space: NameSpace, slug: string) => known.get(keyOf(space, slug)) !== undefined
  const sizes = {
    tenantOf: ({ organization }: NameSpace) => organization,
    weightOf: ({ slugs }: { readonly slugs: readonly string[] }) => slugs.length,
    firstWeight: 10,
    silentAfterMs: silentAfterMs(requestBudgetMs),
    maxWeight: MAX_CLAIMED_NAMES,
    bytesOf: (question: object) => Buffer.byteLength(JSON.stringify(question)),
  }
  const askClaim = createBatchedCall(admission.claim, sizes)
  const askRelease = createBatchedCall(admission.releaseClaims, sizes)

  return {
    /**
     * Claims the slugs that this gateway does not know, in their order. A possible repeat claims all of its slugs: the
     * first request may have made them known, and a repeat gets the same answer.
     */
    claim: async (
      claim: Claim,
      deadlineAt: number,
      { mayBeRepeat = false, traceparent }: { readonly mayBeRepeat?: boolean; readonly traceparent?: string } = {},
    ): Promise<ClaimResult> => {
      const slugs = claim.slugs.filter((slug) => mayBeRepeat || !isKnown(claim, slug))
      if (slugs.length === 0) return new Map()
      const verdicts = verdictOf(await askClaim({ ...claim, slugs }, deadlineAt, traceparent))
      if (typeof verdicts === 'string') return verdicts
      if (verdicts.length !== slugs.length) return 'unchecked'
      return new Map(slugs.map((slug, index) => [slug, verdicts[index] ?? 'claimed']))
    },
    /**
     * Gives back the names of a record that is known to be unpublished. If the call is lost, the trait registry
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
    isRefusedByCap: async (claim: Claim, deadlineAt: number, traceparent?: string): Promise<boolean> => {
      if (claim.slugs.every((slug) => isKnown(claim, slug))) return false
      const verdicts = verdictOf(await askClaim({ ...claim, dryRun: true }, deadlineAt, traceparent))
      return typeof verdicts !== 'string' && verdicts.includes('no-room')
    },
    /** Caches names as known. Call it only after the ack of a record that carried them (design.md, Trait registry). */
    remember: (space: NameSpace, slugs: Iterable<string>) => {
      for (const slug of slugs) known.set(keyOf(space, slug), true)
    },
  }
}

/** Ids hold no `/`, so the slug may hold anything. */
function keyOf({ organization, project, kind }: NameSpace, slug: string): string {
  return `${organization}/${project}/${kind}/${slug}`
}
