import type { KeptRefusal, ProjectRef } from '@nextvisit/contracts'
import { projectKeyOf } from '@nextvisit/domain'
import type { ProjectRefusals } from '@nextvisit/service-kit'

/** Maximum numbers between two flushes. Further refusals of a project are only counted. */
export const GATHERED = { projects: 500, ofProject: 100, ofReason: 10 } as const

interface GatheredProject extends ProjectRefusals {
  readonly counts: Map<string, number>
  readonly kept: KeptRefusal[]
}

/** Gathers the refusals since the last flush in bounded memory (decisions.md, Refusals). */
export function createGatheredRefusals() {
  let projects = new Map<string, GatheredProject>()
  return {
    /** Adds a refusal. Calls `describe` only for one that is kept in full. `dropped`: there are too many projects. */
    add: ({ organization, project }: ProjectRef, reason: string, describe: () => KeptRefusal): 'added' | 'dropped' => {
      const name = projectKeyOf({ organization, project })
      const known = projects.get(name)
      if (!known && projects.size >= GATHERED.projects) return 'dropped'
      const gathered: GatheredProject = known ?? { organization, project, counts: new Map(), kept: [] }
      if (!known) projects.set(name, gathered)
      const { counts, kept } = gathered
      const before = counts.get(reason) ?? 0
      counts.set(reason, before + 1)
      if (before < GATHERED.ofReason && kept.length < GATHERED.ofProject) kept.push(describe())
      return 'added'
    },
    /** Returns and clears all gathered refusals. */
    take: (): readonly ProjectRefusals[] => {
      const taken = [...projects.values()]
      projects = new Map()
      return taken
    },
  }
}
