import type { ClaimVerdict, IdentifyRequested, Unchecked } from '@nextvisit/contracts'
import { chooseFields, type IdentifyBody, isCustomSlug, type TraitChange, toTraitOperations } from '@nextvisit/domain'
import { admissionDeadline } from '../http/budget.ts'
import { REFUSALS, refuse, refuseBody } from '../http/refusals.ts'
import type { RecordPlace } from '../log/record-log.ts'
import type { CheckedRequest } from '../routes/route.ts'
import { type Admission, type AdmissionParts, commonFields, monthOf, recordRefOf } from './admission.ts'

export type AdmitIdentify = ReturnType<typeof createAdmitIdentify>

/**
 * Policy for an identify by either kind of key (decisions.md, Identify): what the project keeps, the MAU quota (400), the
 * cap on unique traits (over it, new slugs are stripped).
 */
export function createAdmitIdentify({ knownUsers, metering, traitRegistry }: AdmissionParts) {
  return async (
    request: CheckedRequest,
    body: IdentifyBody,
    place: RecordPlace,
  ): Promise<Admission<IdentifyRequested>> => {
    const { project } = request
    const deadlineAt = admissionDeadline(request.deadlineAt)
    const common = commonFields(request, place)
    const recordRef = recordRefOf(request, place)
    const user = { userId: place.userId, month: monthOf(common.received) }
    const unchecked: Unchecked[] = []

    const chosen = chooseFields(project, body)
    if (chosen.outcome === 'rejected') return refuseBody(chosen)

    const limit = project.plan.monthlyActiveUsers
    if (limit !== undefined) {
      const reserved = await metering.reserveMau({ kind: 'mau', ...recordRef, ...user, limit }, deadlineAt)
      if (reserved === 'exhausted') return refuse(REFUSALS.mau)
      if (reserved === 'unchecked') unchecked.push('mau')
    }

    const space = { kind: 'trait', ...recordRef } as const
    const disabled = [...project.disabledTraits]
    const claims = capsOnNewTraits(request, registeringSlugs(chosen.changes)).map(({ slugs, ...cap }) => {
      const names = slugs.map((slug) => ({ slug, name: slug }))
      return traitRegistry.claim({ ...space, slugs: names, disabled, ...cap }, deadlineAt)
    })
    const claimed = await Promise.all(claims)
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
        if (published === 'not-published' && limit !== undefined) void metering.release(recordRef.recordId)
        if (published !== 'published') return
        metering.rememberCounted(user)
        traitRegistry.remember(space, registeringSlugs(kept))
        await knownUsers.mark(user.userId)
      },
    }
  }
}

/** Custom slugs in the order in which new ones are admitted, each once. `$unset` registers nothing. */
function registeringSlugs(changes: readonly TraitChange[]): readonly string[] {
  const registering = changes.filter(({ operator, slug }) => operator !== 'unset' && isCustomSlug(slug))
  return [...new Set(registering.map(({ slug }) => slug))]
}

/**
 * The room for new slugs: the plan's cap. For an SDK key where the project does not let clients create traits, only for
 * those that it declares (docs/decisions, 7).
 */
function capsOnNewTraits(
  { key, project }: CheckedRequest,
  slugs: readonly string[],
): readonly { readonly slugs: readonly string[]; readonly limit?: number }[] {
  const { uniqueTraits } = project.plan
  const cap = uniqueTraits === undefined ? {} : { limit: uniqueTraits }
  if (key.entry.kind === 'admin' || project.config.clientCreatedTraits) return [{ slugs, ...cap }]
  const isDeclared = (slug: string) => project.declaredTraits.has(slug)
  return [
    { slugs: slugs.filter(isDeclared), ...cap },
    { slugs: slugs.filter((slug) => !isDeclared(slug)), limit: 0 },
  ]
}
