import type { Catalog, ProjectOfRevision } from './catalog.ts'
import type { ProjectRef, UserFact } from './facts.ts'
import { NEAR_MS } from './model.ts'

/** When a record was evaluated is unknown: by the revision that was current when it was received, or by any later one. */
export interface PossibleRevisions {
  /** Current shortly before and after the record was received. */
  readonly from: number
  readonly until: number
  /** From `from` to the latest, joined where they say the same about the project. */
  readonly runs: readonly Run[]
}

export interface Run {
  readonly first: number
  readonly last: number
  /** Undefined: there is no such project, or the revisions are not known. */
  readonly rules: ProjectOfRevision | undefined
  /** False: the catalog was compacted, and does not have these revisions any more. */
  readonly isKnown: boolean
}

export function possibleRevisionsIn(catalog: Catalog): (fact: UserFact) => PossibleRevisions {
  const known = new Map<string, readonly Run[]>()
  return ({ organization, project, received }) => {
    const now = Date.parse(received)
    const from = catalog.revisionAt(organization, now - NEAR_MS)
    const key = `${organization}/${project}/${from}`
    const runs = known.get(key) ?? runsFrom(catalog, { organization, project, from })
    known.set(key, runs)
    return { from, until: catalog.lastRevisionAt(organization, now + NEAR_MS), runs }
  }
}

function runsFrom(
  catalog: Catalog,
  { organization, project, from }: ProjectRef & { readonly from: number },
): readonly Run[] {
  const runs: Run[] = []
  for (let revision = from; revision <= catalog.latest(organization); revision++) {
    const rules = catalog.project(organization, project, revision)
    const isKnown = catalog.isKnown(organization, revision)
    const before = runs.at(-1)
    if (before && before.rules === rules && before.isKnown === isKnown) {
      runs[runs.length - 1] = { ...before, last: revision }
    } else runs.push({ first: revision, last: revision, rules, isKnown })
  }
  return runs
}
