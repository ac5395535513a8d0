import { type Claim, type ClaimVerdict, type IdentifyRequested, NAME_CAPS, type Unchecked } from '@nextvisit/contracts'
import {
  capsOnNewTraits,
  type AllowedFields,
  applyAllowList,
  checkSettableTraits,
  countsInOwnMonth,
  type IdentifyBody,
  monthOf,
  registeringSlugs,
  toTraitOperations,
} from '@nextvisit/domain'
import type { CheckedRequest } from '../http/route.ts'
import { type Refusal, REFUSALS, refuse, refuseBody } from '../refusals/refusals.ts'
import {
  type AdmissionParts,
  type Admitted,
  commonFields,
  type ItemToAdmit,
  recordRefOf,
  releaseAll,
} from './admission.ts'
import { reserveRoom } from './reserve-room.ts'
import type { ClaimResult } from './trait-registry.ts'
import { type Release, verdictAfter } from './verdicts.ts'

/**
 * Applies the policy for identifies by either kind of key, in this order: the traits that pages may change (400), the
 * fields that the project keeps, the MAU quota (400), the cap on unique traits (over it, new slugs are stripped). See decisions.md, Identify.
 */
export async function admitIdentify(
  { knownUsers, metering, traitRegistry }: AdmissionParts,
  item: ItemToAdmit<IdentifyBody>,
): Promise<Admitted<IdentifyRequested> | Refusal> {
  const { project, deadlineAt, admissionDeadlineAt, traceparent } = item.request
  const { userId } = item.user
  const common = commonFields(item)
  const unsettable = item.request.key.entry.kind === 'sdk' ? checkSettableTraits(project, item.body) : undefined
  if (unsettable) return refuseBody(unsettable)
  const chosen = applyAllowList(project, item.body)
  if (chosen.outcome === 'rejected') return refuseBody(chosen)

  const room = await reserveRoom(metering, 'mau', item, common)
  if (room.outcome === 'refused') return room

  const space = { kind: 'trait', ...recordRefOf(item) } as const
  const claims = claimsOf(space, item.request, registeringSlugs(chosen.changes))
  const releaseNames = claims.map(
    (claim): Release =>
      (at) =>
        traitRegistry.release(claim, at),
  )
  const acquired = [...room.acquired, ...releaseNames]
  const answers = await Promise.all(
    claims.map((claim) => traitRegistry.claim(claim, admissionDeadlineAt, { traceparent })),
  )
  const claimed = answers.map((answer) => verdictAfter(room.unchecked.length > 0, answer))
  if (claimed.includes('crowded')) {
    // Awaited, so that the caller's next request finds the room again.
    await releaseAll(acquired, deadlineAt)
    return refuse(REFUSALS.busy)
  }
  const names = namesOf(claimed, chosen)
  const unchecked = [...room.unchecked, ...(claimed.includes('unchecked') ? [NAME_CAPS.trait.unchecked] : [])]

  return {
    outcome: 'admitted',
    fact: factOf(item, common, chosen, names, unchecked),
    conclude: async (published) => {
      if (published === 'not-published') void releaseAll(acquired)
      if (published !== 'published') return
      if (countsInOwnMonth(common)) metering.rememberCounted(userId, monthOf(common.received))
      // A record with a key may duplicate one without these slugs: of a visit that may differ, or of a time without
      // room. Consumers drop duplicates, so only slugs that were registered before are cached.
      traitRegistry.remember(space, common.keyed ? names.registered : registeringSlugs(names.kept))
      await knownUsers.mark(userId)
    },
  }
}

/** Returns a claim for each cap on the new slugs. */
function claimsOf(
  space: Omit<Claim, 'slugs' | 'disabled' | 'limit'>,
  request: CheckedRequest,
  slugs: readonly string[],
) {
  const disabled = [...request.project.disabledTraits]
  return capsOnNewTraits(request.project, request.key.entry, slugs).map(
    (cap): Claim => ({ ...space, slugs: [...cap.slugs], disabled, limit: cap.limit }),
  )
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
    traits: [...registeringSlugs(names.kept)],
    operations: toTraitOperations(names.kept),
    device: chosen.device,
    registeredTraits: names.added,
    strippedTraits: names.stripped,
    droppedTraits: [...chosen.droppedTraits],
    filteredFields: [...chosen.filteredFields],
    ...(body.invalidDeviceFields.length > 0 && { invalidDeviceFields: [...body.invalidDeviceFields] }),
    unchecked,
  }
}
