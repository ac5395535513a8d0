import type { KeyEntry, NotUnderstood, OrganizationConfig, ProjectConfig } from '@nextvisit/contracts'

/** A project, with sets for look-ups by name that are prepared once for each revision. */
export interface CatalogProject {
  readonly organization: string
  readonly project: string
  /** Revision of the organization's record. */
  readonly revision: number
  readonly config: ProjectConfig
  /** Forms, segments and keys of it that this process does not understand. */
  readonly notUnderstood: readonly NotUnderstood[]
  readonly plan: OrganizationConfig['plan']
  readonly allowedFields: ReadonlySet<string>
  /** Slugs (events: by their slug, not by their name) that are marked disabled. */
  readonly disabledTraits: ReadonlySet<string>
  readonly disabledEvents: ReadonlySet<string>
  /** Slugs that the workspace file names and does not disable: the project knows them before the first record. */
  readonly declaredTraits: ReadonlySet<string>
  readonly declaredEvents: ReadonlySet<string>
}

export interface CatalogKey {
  readonly entry: KeyEntry
  readonly project: CatalogProject
}

/** What a process does not understand of an organization's latest record (docs/decisions/0012). */
export interface CatalogProblem {
  readonly organization: string
  /** Of the latest record; null: it has none that can be read. */
  readonly revision: number | null
  /** The revision in use. Less than `revision`: nothing but the keys of the latest record is. 0: there is none. */
  readonly usedRevision: number
  /** In words: why nothing of it can be read, or which forms, segments and keys are not understood. */
  readonly reason: string
}

/** `revision 7 of acme is not understood; revision 6 is used: …` */
export function describeProblem({ organization, revision, usedRevision, reason }: CatalogProblem): string {
  const named = `revision ${revision ?? '?'} of ${organization} is not understood`
  if (usedRevision === revision) return `${named} in full: ${reason}`
  return `${named}; ${usedRevision === 0 ? 'there is no other' : `revision ${usedRevision} is used`}: ${reason}`
}

/** The catalog topic, held in memory. Answers at once. Its content only moves forward. */
export interface CatalogView {
  readonly project: (organization: string, project: string) => CatalogProject | undefined
  readonly projects: () => Iterable<CatalogProject>
  /** By SHA-256 of the key, hex. */
  readonly keyByHash: (sha256: string) => CatalogKey | undefined
  /** The revision in use for an organization. 0: none. */
  readonly revision: (organization: string) => number
  /** By organization. Empty: this process understands the whole catalog. */
  readonly problems: () => readonly CatalogProblem[]
  /** Called after each change, with the organization that changed. */
  readonly onChange: (listener: (organization: string) => void) => void
  /** When the view was last known to hold everything up to the log's end, by `performance.now()`: the wall clock may be set back. 0: never yet. */
  readonly currentAsOfMs: () => number
}
