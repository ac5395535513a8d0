import type { KeptRefusal, ProjectRef } from '@nextvisit/contracts'
import type { ReadRefusals } from '../live/read-refusals.ts'

/** Each costs Redis some look-ups. */
const MAX_PROJECTS = 10
/** As many as a gateway answers. Kept are the latest 50 of each reason. */
export const ALL_KEPT = 1_000

export interface FoundRefusal extends ProjectRef {
  readonly refusal: KeptRefusal
}

/** `unknown`: it is not among those that could be read, and some could not. */
export type RefusalSearch =
  | ({ readonly outcome: 'found' } & FoundRefusal)
  | { readonly outcome: 'missing' }
  | { readonly outcome: 'unknown' }

/** The refusal of a request, among those that are kept of the first projects; of a batch preferably one that names a user. */
export async function findRefusal(
  readRefusals: ReadRefusals,
  projects: readonly ProjectRef[],
  requestId: string,
): Promise<RefusalSearch> {
  const searches = await Promise.all(
    projects.slice(0, MAX_PROJECTS).map(async ({ organization, project }): Promise<RefusalSearch> => {
      const kept = await readRefusals({ organization, project }, ALL_KEPT)
      if (!kept) return { outcome: 'unknown' }
      const wanted = kept.filter((refusal) => refusal.requestId === requestId)
      const refusal = wanted.find(({ userId }) => userId !== undefined) ?? wanted[0]
      return refusal ? { outcome: 'found', organization, project, refusal } : { outcome: 'missing' }
    }),
  )
  const searchedWith = (outcome: RefusalSearch['outcome']) => searches.find((search) => search.outcome === outcome)
  return searchedWith('found') ?? searchedWith('unknown') ?? { outcome: 'missing' }
}
