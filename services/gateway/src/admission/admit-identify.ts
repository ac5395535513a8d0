import type { IdentifyRequested, Unchecked } from '@nextvisit/contracts'
import type { IdentifyBody } from '../bodies/identify-body.ts'
import { type TraitChange, toTraitOperations } from '../bodies/trait-changes.ts'
import { admissionDeadline } from '../budget.ts'
import { refuse } from '../refusal.ts'
import type { CheckedRequest } from '../route.ts'
import type { UserMarkers } from '../user-markers.ts'
import type { Admission, RecordPlace } from './admission.ts'
import { chooseFields, isCustomSlug } from './choose-fields.ts'
import type { NameClaims } from './claim-names.ts'
import type { Reservations } from './reserve.ts'

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
    const { project, requestId } = request
    const { kind: source, environment } = request.key.entry
    const { organization, project: projectId } = project
    const deadlineAt = admissionDeadline(request.deadlineAt)
    const received = new Date(request.receivedMs).toISOString()
    const month = received.slice(0, 7)
    const rider = { recordId: requestId, partition: place.partition, organization, project: projectId }
    const unchecked: Unchecked[] = []

    const chosen = chooseFields(project, body)
    if (chosen.outcome === 'refused') return chosen

    const limit = project.plan.monthlyActiveUsers
    if (limit !== undefined) {
      const verdict = await reservations.reserveMau(
        { kind: 'mau', ...rider, month, userId: place.userId, limit },
        deadlineAt,
      )
      if (verdict === 'exhausted') return refuse(400, 'Monthly active users limit reached for your plan')
      if (verdict === 'unchecked') unchecked.push('mau')
    }

    const slugs = claimedSlugs(chosen.changes)
    const cap = newTraitCap(request)
    const disabled = [...project.disabledTraits]
    const claimed =
      slugs.length === 0
        ? undefined
        : await names.claim(
            { kind: 'trait', ...rider, slugs: slugs.map((slug) => ({ slug, name: slug })), disabled, ...cap },
            deadlineAt,
          )
    if (claimed?.outcome === 'unchecked') unchecked.push('traits')
    const verdicts = claimed?.outcome === 'claimed' ? [...claimed.verdicts] : []
    const registered = verdicts.filter(([, verdict]) => verdict === 'new').map(([slug]) => slug)
    const stripped = new Set(verdicts.filter(([, verdict]) => verdict === 'no-room').map(([slug]) => slug))
    const kept = chosen.changes.filter((change) => !stripped.has(change.slug))

    const fact: IdentifyRequested = {
      type: 'IdentifyRequested',
      id: requestId,
      organization,
      project: projectId,
      userId: place.userId,
      received,
      environment,
      source,
      keyed: false,
      userName: body.userName,
      operations: toTraitOperations(kept),
      device: chosen.device,
      registeredTraits: registered,
      strippedTraits: [...stripped],
      droppedTraits: [...chosen.droppedTraits],
      filteredFields: [...chosen.filteredFields],
      unchecked,
    }
    const settle = async (published: 'published' | 'not-published' | 'unknown') => {
      if (published === 'not-published' && limit !== undefined) reservations.release(requestId)
      if (published !== 'published') return
      reservations.rememberCounted({ userId: place.userId, month })
      names.remember({ kind: 'trait', ...rider }, claimedSlugs(kept))
      await markers.mark(place.userId)
    }
    return { outcome: 'admitted', fact, settle }
  }
}

/** Custom slugs in the order in which new ones are admitted, each once. `$unset` registers nothing. */
function claimedSlugs(changes: readonly TraitChange[]): readonly string[] {
  const bringing = changes.filter(({ operator, slug }) => operator !== 'unset' && isCustomSlug(slug))
  return [...new Set(bringing.map(({ slug }) => slug))]
}

/** Room for new slugs: none for an SDK key where the project does not let clients create traits, else the plan's cap. */
function newTraitCap({ key, project }: CheckedRequest): { limit?: number } {
  if (key.entry.kind === 'sdk' && !project.config.clientCreatedTraits) return { limit: 0 }
  const { uniqueTraits } = project.plan
  return uniqueTraits === undefined ? {} : { limit: uniqueTraits }
}
