import type { ClaimVerdict, IdentifyRequested, Unchecked } from '@nextvisit/contracts'
import { chooseFields, type IdentifyBody, isCustomSlug, type TraitChange, toTraitOperations } from '@nextvisit/domain'
import { admissionDeadline } from '../budget.ts'
import { refuse, refuseBody } from '../refusal.ts'
import type { CheckedRequest } from '../route.ts'
import type { UserMarkers } from '../user-markers.ts'
import type { Admission, RecordPlace } from './admission.ts'
import type { NameClaims } from './name-claims.ts'
import { commonFields, monthOf, riderOf } from './record-parts.ts'
import type { Reservations } from './reservations.ts'

export interface IdentifyAdmissionParts {
  readonly markers: UserMarkers
  readonly reservations: Reservations
  readonly names: NameClaims
}

export type AdmitIdentify = (
  request: CheckedRequest,
  body: IdentifyBody,
  place: RecordPlace,
) => Promise<Admission<IdentifyRequested>>

/**
 * Policy for an identify by either kind of key (decisions.md, Identify): what the project keeps, the MAU quota (400), the
 * cap on unique traits (over it, new slugs are stripped).
 */
export function createAdmitIdentify({ markers, reservations, names }: IdentifyAdmissionParts): AdmitIdentify {
  return async (request, body, place) => {
    const { project } = request
    const deadlineAt = admissionDeadline(request.deadlineAt)
    const common = commonFields(request, place)
    const rider = riderOf(request, place)
    const user = { userId: place.userId, month: monthOf(common.received) }
    const unchecked: Unchecked[] = []

    const chosen = chooseFields(project, body)
    if (chosen.outcome === 'rejected') return refuseBody(chosen)

    const limit = project.plan.monthlyActiveUsers
    if (limit !== undefined) {
      const verdict = await reservations.reserveMau({ kind: 'mau', ...rider, ...user, limit }, deadlineAt)
      if (verdict === 'exhausted') return refuse(400, 'Monthly active users limit reached for your plan')
      if (verdict === 'unchecked') unchecked.push('mau')
    }

    const disabled = [...project.disabledTraits]
    const claims = newTraitCaps(request, bringingSlugs(chosen.changes)).map(({ slugs, ...cap }) =>
      names.claim(
        { kind: 'trait', ...rider, slugs: slugs.map((slug) => ({ slug, name: slug })), disabled, ...cap },
        deadlineAt,
      ),
    )
    const claimed = await Promise.all(claims)
    if (claimed.some(({ outcome }) => outcome === 'unchecked')) unchecked.push('traits')
    const verdicts = claimed.flatMap((one) => (one.outcome === 'claimed' ? [...one.verdicts] : []))
    const slugsThatAre = (wanted: ClaimVerdict) =>
      verdicts.flatMap(([slug, verdict]) => (verdict === wanted ? slug : []))
    const stripped = new Set(slugsThatAre('no-room'))
    const kept = chosen.changes.filter((change) => !stripped.has(change.slug))

    return {
      outcome: 'admitted',
      fact: {
        type: 'IdentifyRequested',
        ...common,
        userName: body.userName,
        operations: toTraitOperations(kept),
        device: chosen.device,
        registeredTraits: slugsThatAre('new'),
        strippedTraits: [...stripped],
        droppedTraits: [...chosen.droppedTraits],
        filteredFields: [...chosen.filteredFields],
        unchecked,
      },
      settle: async (published) => {
        if (published === 'not-published' && limit !== undefined) void reservations.release(rider.recordId)
        if (published !== 'published') return
        reservations.rememberCounted(user)
        names.remember({ kind: 'trait', ...rider }, bringingSlugs(kept))
        await markers.mark(user.userId)
      },
    }
  }
}

/** Custom slugs in the order in which new ones are admitted, each once. `$unset` registers nothing. */
function bringingSlugs(changes: readonly TraitChange[]): readonly string[] {
  const bringing = changes.filter(({ operator, slug }) => operator !== 'unset' && isCustomSlug(slug))
  return [...new Set(bringing.map(({ slug }) => slug))]
}

/**
 * Room for slugs that are new: the plan's cap; for an SDK key where the project does not let clients create traits, only
 * for those that it declares (docs/decisions, 7).
 */
function newTraitCaps(
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
