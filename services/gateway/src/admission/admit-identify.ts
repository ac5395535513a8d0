import type { Claim, ClaimVerdict, IdentifyRequested, Unchecked } from '@nextvisit/contracts'
import {
  capsOnNewTraits,
  type AllowedFields,
  applyAllowList,
  countsInOwnMonth,
  type IdentifyBody,
  monthOf,
  registeringSlugs,
  toTraitOperations,
} from '@nextvisit/domain'
import { type Refusal, REFUSALS, refuse, refuseBody } from '../refusals/refusals.ts'
import {
  type AdmissionParts,
  type Admitted,
  commonFields,
  type ItemToAdmit,
  recordRefOf,
  releaseAll,
} from './admission.ts'
import type { ClaimResult } from './trait-registry.ts'
import type { Release } from './verdicts.ts'

/**
 * Applies the policy for identifies by either kind of key, in this order: the fields that the project keeps, the MAU
 * quota (400), the cap on unique traits (over it, new slugs are stripped). See decisions.md, Identify.
 */
export async function admitIdentify(
  { knownUsers, metering, traitRegistry }: AdmissionParts,
  item: ItemToAdmit<IdentifyBody>,
): Promise<Admitted<IdentifyRequested> | Refusal> {
  const { project, key, deadlineAt: requestDeadlineAt, admissionDeadlineAt: deadlineAt } = item.request
  const common = commonFields(item)
  const recordRef = recordRefOf(item)
  const user = { userId: item.user.userId, month: monthOf(common.received) }
  const unchecked: Unchecked[] = []
  const acquired: Release[] = []

  const chosen = applyAllowList(project, item.body)
  if (chosen.outcome === 'rejected') return refuseBody(chosen)

  const limit = project.plan.monthlyActiveUsers
  if (limit !== undefined) {
    const { verdict, release } = await metering.reserveMau({ kind: 'mau', ...recordRef, ...user, limit }, deadlineAt)
    if (verdict === 'no-room') return refuse(REFUSALS.mau)
    if (verdict === 'crowded') return refuse(REFUSALS.busy)
    if (verdict === 'unchecked') unchecked.push('mau')
    acquired.push(release)
  }

  const space = { kind: 'trait', ...recordRef } as const
  const disabled = [...project.disabledTraits]
  const claims = capsOnNewTraits(project, key.entry, registeringSlugs(chosen.changes)).map(
    (cap): Claim => ({ ...space, slugs: [...cap.slugs], disabled, limit: cap.limit }),
  )
  for (const claim of claims) acquired.push((releaseDeadlineAt) => traitRegistry.release(claim, releaseDeadlineAt))
  const claimed = await Promise.all(claims.map((claim) => traitRegistry.claim(claim, deadlineAt)))
  if (claimed.includes('crowded')) {
    // Awaited, so that the caller's next request finds the room again.
    await releaseAll(acquired, requestDeadlineAt)
    return refuse(REFUSALS.busy)
  }
  if (claimed.includes('unchecked')) unchecked.push('traits')
  const names = namesOf(claimed, chosen)

  return {
    outcome: 'admitted',
    fact: factOf(item, common, chosen, names, unchecked),
    conclude: async (published) => {
      if (published === 'not-published') void releaseAll(acquired)
      if (published !== 'published') return
      if (countsInOwnMonth(common)) metering.rememberCounted(user)
      // A record with a key may duplicate one without these slugs: of a visit that may differ, or of a time without
      // room. Consumers drop duplicates, so only slugs that were registered before are cached.
      traitRegistry.remember(space, common.keyed ? names.registered : registeringSlugs(names.kept))
      await knownUsers.mark(user.userId)
    },
  }
}

type Names = ReturnType<typeof namesOf>

/** Sorts the slugs of an identify by the verdicts on them, and drops the changes whose slugs have no room. */
function namesOf(claimed: readonly ClaimResult[], { changes }: AllowedFields) {
  const verdicts = claimed.flatMap((one) => (typeof one === 'string' ? [] : [...one]))
  const slugsOf = (wanted: ClaimVerdict) => verdicts.flatMap(([slug, verdict]) => (verdict === wanted ? slug : []))
  const stripped = new Set(slugsOf('no-room'))
  const kept = changes.filter((change) => !stripped.has(change.slug))
  return { added: slugsOf('new'), registered: slugsOf('registered'), stripped: [...stripped], kept }
}

function factOf(
  { body }: ItemToAdmit<IdentifyBody>,
  common: ReturnType<typeof commonFields>,
  chosen: AllowedFields,
  names: Names,
  unchecked: Unchecked[],
): IdentifyRequested {
  return {
    type: 'IdentifyRequested',
    ...common,
    userName: body.userName,
    operations: toTraitOperations(names.kept),
    device: chosen.device,
    registeredTraits: names.added,
    strippedTraits: names.stripped,
    droppedTraits: [...chosen.droppedTraits],
    filteredFields: [...chosen.filteredFields],
    unchecked,
  }
}
