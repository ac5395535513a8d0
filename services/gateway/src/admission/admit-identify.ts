import type { Claim, ClaimVerdict, IdentifyRequested, Unchecked } from '@nextvisit/contracts'
import {
  capsOnNewTraits,
  chooseFields,
  countsInOwnMonth,
  type IdentifyBody,
  monthOf,
  registeringSlugs,
  toTraitOperations,
} from '@nextvisit/domain'
import { REFUSALS, refuse, refuseBody } from '../api/refusals.ts'
import { type Admission, type AdmissionParts, commonFields, type ItemToAdmit, recordRefOf } from './admission.ts'

export type AdmitIdentify = ReturnType<typeof createAdmitIdentify>

/**
 * Creates the policy for identifies by either kind of key, in this order: the fields that the project keeps, the MAU
 * quota (400), the cap on unique traits (over it, new slugs are stripped). See decisions.md, Identify.
 */
export function createAdmitIdentify({ knownUsers, metering, traitRegistry }: AdmissionParts) {
  return async (item: ItemToAdmit<IdentifyBody>): Promise<Admission<IdentifyRequested>> => {
    const { request, body } = item
    const { project, admissionDeadlineAt: deadlineAt } = request
    const common = commonFields(item)
    const recordRef = recordRefOf(item)
    const user = { userId: item.user.userId, month: monthOf(common.received) }
    const unchecked: Unchecked[] = []

    const chosen = chooseFields(project, body)
    if (chosen.outcome === 'rejected') return refuseBody(chosen)

    const limit = project.plan.monthlyActiveUsers
    if (limit !== undefined) {
      const reserved = await metering.reserveMau({ kind: 'mau', ...recordRef, ...user, limit }, deadlineAt)
      if (reserved === 'exhausted') return refuse(REFUSALS.mau)
      if (reserved === 'crowded') return refuse(REFUSALS.busy)
      if (reserved === 'unchecked') unchecked.push('mau')
    }

    const space = { kind: 'trait', ...recordRef } as const
    const disabled = [...project.disabledTraits]
    const caps = capsOnNewTraits(project, request.key.entry, registeringSlugs(chosen.changes))
    const claims = caps.map(({ slugs, limit: cap }): Claim => ({ ...space, slugs: [...slugs], disabled, limit: cap }))
    // The services may have acted on unanswered calls, too.
    const release = (releaseDeadlineAt?: number) =>
      Promise.all([
        limit === undefined ? undefined : metering.release(recordRef, releaseDeadlineAt),
        ...claims.map((claim) => traitRegistry.release(claim, releaseDeadlineAt)),
      ])
    const claimed = await Promise.all(claims.map((claim) => traitRegistry.claim(claim, deadlineAt)))
    if (claimed.some(({ outcome }) => outcome === 'crowded')) {
      // Awaited, so that the caller's next request finds the room again.
      await release(request.deadlineAt)
      return refuse(REFUSALS.busy)
    }
    if (claimed.some(({ outcome }) => outcome === 'unchecked')) unchecked.push('traits')
    const verdicts = claimed.flatMap((one) => (one.outcome === 'claimed' ? [...one.verdicts] : []))
    const slugsOf = (wanted: ClaimVerdict) => verdicts.flatMap(([slug, verdict]) => (verdict === wanted ? slug : []))
    const stripped = new Set(slugsOf('no-room'))
    const kept = chosen.changes.filter((change) => !stripped.has(change.slug))

    return {
      outcome: 'admitted',
      fact: {
        type: 'IdentifyRequested',
        ...common,
        userName: body.userName,
        operations: toTraitOperations(kept),
        device: chosen.device,
        registeredTraits: slugsOf('new'),
        strippedTraits: [...stripped],
        droppedTraits: [...chosen.droppedTraits],
        filteredFields: [...chosen.filteredFields],
        unchecked,
      },
      settle: async (published) => {
        if (published === 'not-published') void release()
        if (published !== 'published') return
        if (countsInOwnMonth(common)) metering.rememberCounted(user)
        // A record with a key may duplicate one without these slugs: of a visit that may differ, or of a time without
        // room. Consumers drop duplicates, so only slugs that were registered before are cached.
        traitRegistry.remember(space, common.keyed ? slugsOf('registered') : registeringSlugs(kept))
        await knownUsers.mark(user.userId)
      },
    }
  }
}
