import type { KeptRefusal, ProjectRef } from '@nextvisit/contracts'
import { isSameProject, type KnownCatalog } from '../catalog/known-catalog.ts'
import type { Dependencies } from '../dependencies.ts'
import { answered, type ApiRefusal, type ApiResult, refuse, refuseWithoutLog } from '../http/api-route.ts'
import type { UserPath } from './api.ts'
import type { FoundRequest } from './find-request.ts'

/** Maximum number of projects whose refusals are searched: each costs Redis some look-ups. */
const MAX_PROJECTS = 10
/** Maximum number of refusals that a gateway returns. It keeps the latest 50 of each reason. */
export const ALL_KEPT = 1_000

const NO_REQUEST = refuse(
  404,
  'no-request',
  'No record and no kept refusal has this requestId. Refusals of the selected project and up to nine others were searched; only the latest of each reason are kept. A request with an Idempotency-Key cannot be found by its id: search for the userName instead.',
)
const NO_REFUSALS = refuse(
  503,
  'no-refusals',
  'No record has this requestId. It may have been refused, but not all refusals could be read: no gateway answers, or Redis does not. The Overview says more.',
)
export const NO_LOG = refuseWithoutLog('The log')

interface UserOfRequestParts extends Pick<Dependencies, 'readRefusals'> {
  readonly findRequest: (requestId: string, signal: AbortSignal) => Promise<FoundRequest>
  readonly knownCatalog: () => Promise<KnownCatalog | undefined>
}

/** Finds the user of a request by its record, or by its refusal. Refusals of the given project are searched first. */
export async function findUserOfRequest(
  { findRequest, readRefusals, knownCatalog }: UserOfRequestParts,
  { requestId, ...selected }: ProjectRef & { readonly requestId: string },
  signal: AbortSignal,
): Promise<ApiResult<UserPath>> {
  const found = await findRequest(requestId, signal).catch(() => undefined)
  signal.throwIfAborted()
  if (found?.outcome === 'found') {
    const { organization, project, userId } = found.fact
    return answered({ organization, project, userId })
  }
  const others = ((await knownCatalog())?.projects() ?? []).filter((other) => !isSameProject(selected, other))
  const readKept = (project: ProjectRef) => readRefusals(project, ALL_KEPT, signal)
  const search = await findRefusal(readKept, [selected, ...others], requestId)
  if (search.outcome !== 'found') {
    if (!found) return NO_LOG
    if (found.outcome === 'too-many-records') return notAllRead(requestId, found)
    return search.outcome === 'missing' ? NO_REQUEST : NO_REFUSALS
  }
  const { organization, project, refusal } = search
  return refusal.userId === undefined
    ? refusedWithoutUser(search)
    : answered({ organization, project, userId: refusal.userId })
}

interface FoundRefusal extends ProjectRef {
  readonly refusal: KeptRefusal
}

/** `unknown`: not among the refusals that could be read, and some could not. */
type RefusalSearch =
  | ({ readonly outcome: 'found' } & FoundRefusal)
  | { readonly outcome: 'missing' }
  | { readonly outcome: 'unknown' }

/** Finds the refusal of a request in the first projects. Of a batch it prefers a refusal that names a user. */
async function findRefusal(
  readKept: (project: ProjectRef) => ReturnType<Dependencies['readRefusals']>,
  projects: readonly ProjectRef[],
  requestId: string,
): Promise<RefusalSearch> {
  const searches = await Promise.all(
    projects.slice(0, MAX_PROJECTS).map(async ({ organization, project }): Promise<RefusalSearch> => {
      const kept = await readKept({ organization, project })
      if (!kept) return { outcome: 'unknown' }
      const wanted = kept.filter((refusal) => refusal.requestId === requestId)
      const refusal = wanted.find(({ userId }) => userId !== undefined) ?? wanted[0]
      return refusal ? { outcome: 'found', organization, project, refusal } : { outcome: 'missing' }
    }),
  )
  const searchedWith = (outcome: RefusalSearch['outcome']) => searches.find((search) => search.outcome === outcome)
  return searchedWith('found') ?? searchedWith('unknown') ?? { outcome: 'missing' }
}

function refusedWithoutUser({ organization, project, refusal: { at, status, message } }: FoundRefusal): ApiRefusal {
  return refuse(
    404,
    'refused-nobody',
    `This request to ${organization}/${project} was refused with ${status} at ${at}, before it named a user: ${message}`,
  )
}

/** Refuses because too many records surround the request. Trying again would not help. */
function notAllRead(
  requestId: string,
  { read, fromMs, untilMs }: Extract<FoundRequest, { outcome: 'too-many-records' }>,
): ApiRefusal {
  const [from, to] = [fromMs, untilMs].map((ms) => new Date(ms).toISOString())
  return refuse(
    503,
    'not-all-read',
    `The log holds more records around the time of this requestId than the ${read.toLocaleString('en')} that were searched. Neither these nor the readable refusals have it. Search for the userName, or search the log on a terminal: nextvisit export --from ${from} --to ${to} --out - | grep ${requestId}`,
  )
}
