import type { OrganizationConfig, OrganizationConfigured, ProjectConfig } from '@nextvisit/contracts'
import { eventSlug } from '@nextvisit/domain'
import type { CatalogKey, CatalogProject, CatalogView } from './catalog-view.ts'

interface HeldOrganization {
  readonly revision: number
  /** `null` once it was removed. Its revision is kept, so that the next one follows it. */
  readonly config: OrganizationConfig | null
  readonly projects: ReadonlyMap<string, CatalogProject>
}

/** The catalog topic folded up to some record. Only `foldCatalog` changes it. */
export interface CatalogState {
  readonly organizations: Map<string, HeldOrganization>
  /**
   * By SHA-256 of the key: its holder first, then others that name it, in the order of the log. So nobody takes over a key
   * by naming its hash, and a key that moves to another organization works whichever record comes first.
   */
  readonly keys: Map<string, readonly CatalogKey[]>
}

/** The part of a view that needs no log. */
export type CatalogLookups = Pick<CatalogView, 'project' | 'projects' | 'keyByHash' | 'revision'>

export function emptyCatalog(): CatalogState {
  return { organizations: new Map(), keys: new Map() }
}

/**
 * Folds one record into the state, in place. A record counts only where its revision is one more than the held one, so
 * of two appliers that started from the same revision the first in the log wins (decisions.md, The workspace file).
 * Returns whether it counted.
 */
export function foldCatalog(state: CatalogState, record: OrganizationConfigured): boolean {
  const held = state.organizations.get(record.organization)
  if (record.revision !== (held?.revision ?? 0) + 1) return false
  for (const project of held?.projects.values() ?? []) releaseKeys(state, project)
  const projects = new Map<string, CatalogProject>()
  for (const config of record.config?.projects ?? []) {
    const project = prepareProject(record, record.config?.plan ?? {}, config)
    projects.set(config.id, project)
    for (const entry of config.keys) {
      state.keys.set(entry.sha256, [...(state.keys.get(entry.sha256) ?? []), { entry, project }])
    }
  }
  state.organizations.set(record.organization, { revision: record.revision, config: record.config, projects })
  return true
}

function releaseKeys(state: CatalogState, project: CatalogProject): void {
  for (const { sha256 } of project.config.keys) {
    const others = (state.keys.get(sha256) ?? []).filter((key) => key.project !== project)
    if (others.length > 0) state.keys.set(sha256, others)
    else state.keys.delete(sha256)
  }
}

/** Look-ups that always answer from the current state. */
export function lookupsOf(state: CatalogState): CatalogLookups {
  return {
    project: (organization, project) => state.organizations.get(organization)?.projects.get(project),
    projects: () => allProjects(state),
    keyByHash: (sha256) => state.keys.get(sha256)?.[0],
    revision: (organization) => state.organizations.get(organization)?.revision ?? 0,
  }
}

function* allProjects(state: CatalogState): Iterable<CatalogProject> {
  for (const organization of state.organizations.values()) yield* organization.projects.values()
}

function prepareProject(
  record: OrganizationConfigured,
  plan: OrganizationConfig['plan'],
  config: ProjectConfig,
): CatalogProject {
  return {
    organization: record.organization,
    project: config.id,
    revision: record.revision,
    config,
    plan,
    allowedFields: new Set(config.allowedFields),
    disabledTraits: slugsOf(config.traits, false),
    disabledEvents: new Set([...slugsOf(config.events, false)].map(eventSlug)),
    declaredTraits: slugsOf(config.traits, true),
    declaredEvents: new Set([...slugsOf(config.events, true)].map(eventSlug)),
  }
}

function slugsOf(switches: ProjectConfig['traits'], enabled: boolean): ReadonlySet<string> {
  return new Set(switches.filter((one) => one.enabled === enabled).map(({ slug }) => slug))
}
