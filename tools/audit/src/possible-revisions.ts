import type { Catalog, ProjectOfRevision } from './catalog.ts'
import type { ClearFact, ProjectRef } from './facts.ts'
import { NEAR_MS } from './model.ts'

/** Revisions by which a record may have been evaluated: the current one when it was received, or any later one. */
export interface PossibleRevisions {
  /** First revision that was current around the time when the record was received. */
  readonly from: number
  /** Last revision that was current around that time. */
  readonly until: number
  /** Revisions from `from` to the latest, joined if the project is the same. */
  readonly runs: readonly RevisionRange[]
}

/** Consecutive revisions with the same project. */
export interface RevisionRange {
  readonly first: number
  readonly last: number
  /** The project; undefined: it does not exist, or the revisions are unknown. */
  readonly rules: ProjectOfRevision | undefined
  /** True if the revisions are known; false if compaction has removed them from the catalog. */
  readonly isKnown: boolean
}

export function possibleRevisionsIn(catalog: Catalog): (fact: ClearFact) => PossibleRevisions {
  const known = new Map<string, readonly RevisionRange[]>()
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
): readonly RevisionRange[] {
  const runs: RevisionRange[] = []
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
