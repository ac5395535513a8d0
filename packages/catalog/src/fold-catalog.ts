import type { KeyEntry, NotUnderstood, OrganizationConfig, ProjectConfig } from '@nextvisit/contracts'
import { eventSlug } from '@nextvisit/domain'
import type { CatalogKey, CatalogProblem, CatalogProject, CatalogView } from './catalog-view.ts'
import { createFormContents, type FormContents } from './form-contents.ts'
import type { CatalogRecord } from './read-catalog-record.ts'

type ReadRecord = Extract<CatalogRecord, { outcome: 'read' }>
type UnreadableRecord = Extract<CatalogRecord, { outcome: 'unreadable' }>

export interface HeldOrganization {
  /** The revision of the latest record, also of one that removed the organization. The next one must be greater. */
  readonly latestRevision: number
  /** The revision that `config` comes from. Less than `latestRevision` if the latest record cannot be read. 0: none. */
  readonly revision: number
  /** null: removed, or never read. */
  readonly config: OrganizationConfig | null
  readonly projects: ReadonlyMap<string, CatalogProject>
  readonly problem: CatalogProblem | undefined
  /** Number of records after the latest one that cannot be decoded. Each may be a revision of this organization. */
  readonly undecodableRecords: number
}

const NOT_HELD: HeldOrganization = {
  latestRevision: 0,
  revision: 0,
  config: null,
  projects: new Map(),
  problem: undefined,
  undecodableRecords: 0,
}

/** The folded catalog topic. Only `foldCatalog` and `foldUndecodable` change it. */
export interface CatalogState {
  readonly organizations: Map<string, HeldOrganization>
  /**
   * Keys by SHA-256: the holder's first, then those of other organizations that name the hash, in the order in which they
   * first did. Naming a hash therefore never takes over a key, even when its holder applies again, and a key that moves to
   * another organization works whichever record comes first.
   */
  readonly keys: Map<string, readonly CatalogKey[]>
  /** The undecodable batches of the log, in order. */
  readonly undecodable: UndecodableBatch[]
  /** The contents of forms. undefined: they are left out. */
  readonly contents: FormContents | undefined
}

interface UndecodableBatch {
  readonly error: Error
  /** Maximum number of records in the batch. */
  readonly records: number
}

/** `withFormContents`: also holds the contents of forms. */
export function emptyCatalog({ withFormContents = false } = {}): CatalogState {
  const contents = withFormContents ? createFormContents() : undefined
  return { organizations: new Map(), keys: new Map(), undecodable: [], contents }
}

/**
 * Folds one record into the state, in place. A record counts if its revision is greater than the latest one. Of two
 * appliers that started from the same revision, the first in the log therefore wins (decisions.md, The workspace file), and
 * older records may be compacted away. Returns whether the record counted. The content of a form changes no organization,
 * and does not count: a later revision refers to it.
 *
 * An unreadable record decides about keys only: those that it names, and that are understood, stay valid. If its revision
 * cannot be read either, no key is valid until the next record (decision 0012).
 */
export function foldCatalog(state: CatalogState, record: CatalogRecord): boolean {
  if (record.outcome === 'content') state.contents?.add(record.content)
  if (record.outcome !== 'read' && record.outcome !== 'unreadable') return false
  const held = state.organizations.get(record.organization) ?? NOT_HELD
  if (record.revision !== undefined && record.revision <= held.latestRevision) return false
  hold(state, record.organization, record.outcome === 'read' ? readFrom(state, record) : withKeysOf(held, record))
  return true
}

/**
 * Folds a batch that cannot be decoded into the state, in place. Every organization stays in force, with its keys: the batch
 * does not say which it changes. Each may have had a later revision in it, so each has a problem until its next record
 * (decision 0012).
 */
export function foldUndecodable({ organizations, undecodable }: CatalogState, batch: UndecodableBatch): void {
  undecodable.push(batch)
  const reason = `${batch.error.message}. Apply the organization again: see docs/runbooks/halted.md`
  for (const [organization, held] of organizations) {
    const undecodableRecords = held.undecodableRecords + batch.records
    const own = { organization, revision: null, usedRevision: held.revision, reason, isUndecodable: true } as const
    // A removed organization has nothing that could be stale.
    const problem = held.problem ?? (held.config ? own : undefined)
    organizations.set(organization, { ...held, undecodableRecords, problem })
  }
}

/** Returns the revision of an organization's next record: greater than any in the log, decodable or not. */
export function nextRevision({ organizations, undecodable }: CatalogState, organization: string): number {
  const held = organizations.get(organization)
  if (held) return held.latestRevision + held.undecodableRecords + 1
  return undecodable.reduce((sum, { records }) => sum + records, 0) + 1
}

/** Forms, contents, segments, keys and webhooks that a problem names: it is logged, and shown in lists. */
const MAX_NAMED = 20

type Content = Omit<HeldOrganization, 'projects' | 'undecodableRecords'> & {
  readonly notUnderstood: readonly NotUnderstood[]
}

function readFrom({ contents }: CatalogState, record: ReadRecord): Content {
  const { organization, revision, config } = record
  const refused = contents ? contentsIn(contents, organization, config) : NO_CONTENTS
  const notUnderstood = [...record.notUnderstood, ...refused.notUnderstood]
  const common = { organization, revision, usedRevision: revision }
  const names = notUnderstood.map(({ project, kind, id, reason }) => `${project}: ${kind} ${id} (${reason})`)
  const problem =
    names.length > 0
      ? { ...common, reason: listed(names) }
      : refused.missing.length > 0
        ? ({
            ...common,
            reason: `these forms have no content in the log: ${listed(refused.missing)}. Apply the organization again`,
            isMissingContent: true,
          } as const)
        : undefined
  return { latestRevision: revision, revision, config, notUnderstood, problem }
}

function listed(names: readonly string[]): string {
  const more = names.length - MAX_NAMED
  return [...names.slice(0, MAX_NAMED), ...(more > 0 ? [`${more} more`] : [])].join('; ')
}

interface CheckedContents {
  readonly notUnderstood: readonly NotUnderstood[]
  /** Forms whose content is not in the log. */
  readonly missing: readonly string[]
}

const NO_CONTENTS: CheckedContents = { notUnderstood: [], missing: [] }

/** Notes and checks the contents that a configuration refers to. They precede its record in the log. */
function contentsIn(contents: FormContents, organization: string, config: OrganizationConfig | null): CheckedContents {
  const checked = (config?.projects ?? []).flatMap(({ id: project, forms }) =>
    forms.flatMap(({ id, content: ref }) => {
      if (!ref) return []
      contents.refer({ organization, project }, id, ref)
      return [{ project, id, check: contents.check({ organization, project }, id, ref) }]
    }),
  )
  return {
    notUnderstood: checked.flatMap(({ project, id, check }) =>
      check.outcome === 'not-understood' ? { project, kind: 'content', id, reason: check.reason } : [],
    ),
    missing: checked.flatMap(({ project, id, check }) => (check.outcome === 'missing' ? `${project}/${id}` : [])),
  }
}

function withKeysOf(held: HeldOrganization, { organization, revision, keys, reason }: UnreadableRecord): Content {
  // Without a revision the record may be older than the current one and name keys that were revoked since.
  const valid = revision === undefined ? new Map<string, readonly KeyEntry[]>() : keys
  const projects = held.config?.projects.map((project) => ({ ...project, keys: [...(valid.get(project.id) ?? [])] }))
  return {
    latestRevision: revision ?? held.latestRevision,
    revision: held.revision,
    config: held.config && { ...held.config, projects: projects ?? [] },
    notUnderstood: [...held.projects.values()].flatMap((project) => project.notUnderstood),
    problem: { organization, revision: revision ?? null, usedRevision: held.revision, reason },
  }
}

function hold(state: CatalogState, organization: string, { notUnderstood, ...content }: Content): void {
  const { config, revision } = content
  const notUnderstoodIn = Map.groupBy(notUnderstood, ({ project }) => project)
  const projects = new Map(
    (config?.projects ?? []).map((project) => {
      const place = { organization, project: project.id, revision, plan: config?.plan ?? {} }
      return [
        project.id,
        { ...place, ...prepareProject(project), notUnderstood: notUnderstoodIn.get(project.id) ?? [] },
      ]
    }),
  )
  const before = state.organizations.get(organization) ?? NOT_HELD
  placeKeys(state, organization, keysIn(before.projects.values()), keysIn(projects.values()))
  const undecodableRecords = content.latestRevision > before.latestRevision ? 0 : before.undecodableRecords
  state.organizations.set(organization, { ...content, projects, undecodableRecords })
}

function keysIn(projects: Iterable<CatalogProject>): Map<string, CatalogKey[]> {
  const keys = [...projects].flatMap((project) => project.config.keys.map((entry): CatalogKey => ({ entry, project })))
  return Map.groupBy(keys, ({ entry }) => entry.sha256)
}

/** Updates an organization's keys. A key that it keeps stays in its place among other organizations' keys of the same hash. */
function placeKeys(
  state: CatalogState,
  organization: string,
  before: ReadonlyMap<string, readonly CatalogKey[]>,
  after: ReadonlyMap<string, readonly CatalogKey[]>,
): void {
  const isOwn = ({ project }: CatalogKey) => project.organization === organization
  for (const sha256 of new Set([...before.keys(), ...after.keys()])) {
    const all = state.keys.get(sha256) ?? []
    const at = all.findIndex(isOwn)
    const others = all.filter((key) => !isOwn(key))
    const placed = others.toSpliced(at < 0 ? others.length : at, 0, ...(after.get(sha256) ?? []))
    if (placed.length > 0) state.keys.set(sha256, placed)
    else state.keys.delete(sha256)
  }
}

/** Creates look-ups that always answer from the current state. */
export function lookupsOf(
  state: CatalogState,
): Pick<CatalogView, 'project' | 'projects' | 'keyByHash' | 'revision' | 'formContent' | 'problems'> {
  return {
    project: (organization, project) => state.organizations.get(organization)?.projects.get(project),
    projects: () => allProjects(state),
    keyByHash: (sha256) => state.keys.get(sha256)?.[0],
    revision: (organization) => state.organizations.get(organization)?.revision ?? 0,
    formContent: (place, formId, revision) => state.contents?.content(place, formId, revision),
    problems: () => problemsOf(state),
  }
}

/** Returns the parts that this version does not understand, by organization. */
export function problemsOf({ organizations }: CatalogState): readonly CatalogProblem[] {
  return [...organizations.values()].flatMap(({ problem }) => problem ?? [])
}

function* allProjects(state: CatalogState): Iterable<CatalogProject> {
  for (const organization of state.organizations.values()) yield* organization.projects.values()
}

/** Builds the sets of a project. */
function prepareProject(config: ProjectConfig) {
  return {
    config,
    allowedFields: new Set(config.allowedFields),
    settableTraits: config.sdk.settableTraits && new Set(config.sdk.settableTraits),
    disabledTraits: slugsOf(config.traits, false),
    disabledEvents: new Set([...slugsOf(config.events, false)].map(eventSlug)),
    declaredTraits: slugsOf(config.traits, true),
    declaredEvents: new Set([...slugsOf(config.events, true)].map(eventSlug)),
  }
}

function slugsOf(switches: ProjectConfig['traits'], enabled: boolean): ReadonlySet<string> {
  return new Set(switches.filter((one) => one.enabled === enabled).map(({ slug }) => slug))
}
