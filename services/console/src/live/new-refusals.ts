import type { ProjectRef } from '@nextvisit/contracts'
import type { Dependencies } from '../dependencies.ts'
import { type KeptEntry, refusalEntry } from './live-entries.ts'

interface NewRefusalsParts extends Pick<Dependencies, 'readRefusals' | 'nowMs'> {
  /** A project is read this long after the last request for it. */
  readonly requestedForMs: number
  readonly onEntries: (entries: readonly KeptEntry[]) => void
  readonly signal: AbortSignal
}

/** Reads new refusals of the projects that pages have requested recently. */
export function createNewRefusals({ readRefusals, nowMs, requestedForMs, onEntries, signal }: NewRefusalsParts) {
  const requested = new Map<string, { readonly project: ProjectRef; readonly atMs: number }>()
  /** Ids of the refusals at the last read, by project. */
  const known = new Map<string, ReadonlySet<string>>()
  let isAvailable = true

  return {
    request: (projects: readonly ProjectRef[]): void => {
      for (const project of projects)
        requested.set(`${project.organization}/${project.project}`, { project, atMs: nowMs() })
    },
    read: async (): Promise<void> => {
      for (const [name, { project, atMs }] of requested) {
        if (signal.aborted) return
        if (nowMs() - atMs > requestedForMs) {
          requested.delete(name)
          continue
        }
        const refusals = await readRefusals(project)
        isAvailable = refusals !== undefined
        if (!refusals) return
        const before = known.get(name)
        known.set(name, new Set(refusals.map(({ id }) => id)))
        const added = refusals.filter(({ id }) => !before?.has(id)).toReversed()
        onEntries(added.map((refusal) => refusalEntry(project, refusal)))
      }
    },
    /** Returns true if the last read succeeded. */
    isAvailable: () => isAvailable,
  }
}
