import type { KeyEntry, OrganizationConfig, ProjectConfig } from '@nextvisit/contracts'

/** A project, with sets for look-ups by name that are prepared once for each revision. */
export interface CatalogProject {
  readonly organization: string
  readonly project: string
  /** Revision of the organization's record. */
  readonly revision: number
  readonly config: ProjectConfig
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

/** The catalog topic, held in memory. Answers at once. Its content only moves forward. */
export interface CatalogView {
  readonly project: (organization: string, project: string) => CatalogProject | undefined
  readonly projects: () => Iterable<CatalogProject>
  /** By SHA-256 of the key, hex. */
  readonly keyByHash: (sha256: string) => CatalogKey | undefined
  /** Revision held for an organization. 0: none. */
  readonly revision: (organization: string) => number
  /** Called after each change, with the organization that changed. */
  readonly onChange: (listener: (organization: string) => void) => void
  /** When the view was last known to hold everything up to the log's end, ms since the epoch. 0: never yet. */
  readonly currentAsOfMs: () => number
}
