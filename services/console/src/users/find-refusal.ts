import type { KeptRefusal, ProjectRef } from '@nextvisit/contracts'
import type { ReadRefusals } from '../live/read-refusals.ts'

/** Each costs Redis some look-ups. */
const MAX_PROJECTS = 10
/** More than are kept of a project. */
export const ALL_KEPT = 1_000

export interface FoundRefusal extends ProjectRef {
  readonly refusal: KeptRefusal
}

/**
 * The refusal of a request, among those that are kept of the first projects; of a batch preferably one that names a user.
 * Undefined: there is none, or nobody answers.
 */
export async function findRefusal(
  readRefusals: ReadRefusals,
  projects: readonly ProjectRef[],
  requestId: string,
): Promise<FoundRefusal | undefined> {
  const found = await Promise.all(
    projects.slice(0, MAX_PROJECTS).map(async ({ organization, project }) => {
      const kept = (await readRefusals({ organization, project }, ALL_KEPT)) ?? []
      const wanted = kept.filter((refusal) => refusal.requestId === requestId)
      const refusal = wanted.find(({ userId }) => userId !== undefined) ?? wanted[0]
      return refusal && { organization, project, refusal }
    }),
  )
  return found.find((one) => one !== undefined)
}
