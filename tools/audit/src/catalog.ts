import { isDeepStrictEqual } from 'node:util'
import { msOf } from './condition.ts'
import { propertyCountsIn } from './count-names.ts'
import { type FormRule, formRuleOf } from './form-rules.ts'
import type { Condition, FormInFile, Where } from './workspace-file.ts'

/** A project in one revision of its organization's configuration, with the members that the audit needs. */
export interface ProjectOfRevision {
  /** Forms by id. */
  readonly forms: ReadonlyMap<string, FormRule>
  /** Ids of forms with an event trigger, by the event's slug. */
  readonly formIdsByEvent: ReadonlyMap<string, readonly string[]>
  /** Ids of forms with other triggers, which any record may match. */
  readonly formIdsOfAnyRecord: readonly string[]
  /** Cooldown across all forms; 0: none. */
  readonly cooldownMs: number
  /** Conditions of segments, by id. */
  readonly segments: ReadonlyMap<string, Condition>
  /** Property counts of forms and segments, by `countName`. */
  readonly propertyCounts: ReadonlyMap<string, Where>
}

export interface Catalog {
  /** Returns the project in a revision: the same object while nothing in it changes. */
  readonly project: (organization: string, project: string, revision: number) => ProjectOfRevision | undefined
  /** Returns an organization's latest revision; 0: it was never configured. */
  readonly latest: (organization: string) => number
  /** Returns an organization's first possible revision at an instant (ms), by the clock of the applying machine. */
  readonly revisionAt: (organization: string, instant: number) => number
  /** Returns the last possible revision, which differs from the first only if revisions between them are unknown. */
  readonly lastRevisionAt: (organization: string, instant: number) => number
  /** Returns whether a revision is known; false: the topic no longer has it. */
  readonly isKnown: (organization: string, revision: number) => boolean
  /** Returns the organizations with compacted revisions. `unknown`: number of revisions that are no longer in the topic. */
  readonly compacted: () => readonly {
    readonly organization: string
    readonly unknown: number
    readonly latest: number
  }[]
}

interface ProjectInFile {
  readonly id: string
  readonly formCooldown?: string
  readonly forms?: readonly FormInFile[]
  readonly segments?: readonly { readonly id: string; readonly where: Condition }[]
}

interface Configured {
  readonly type?: string
  readonly organization?: string
  readonly revision?: number
  readonly config?: { readonly projects?: readonly ProjectInFile[] } | null
  readonly appliedAt?: string
}

/**
 * Folds the records of the topic `catalog`, in order: a record is valid if its revision is greater than the previous one.
 * Contents of forms (`FormContentApplied`) decide nothing. A compacted topic has lost old revisions (decision 0012), and cases that depend on them are undecided.
 */
export function createCatalog(): Catalog & { readonly observe: (value: Buffer | null) => void } {
  const projects = new Map<string, ProjectOfRevision>()
  /** Instants when the revisions were applied, in order. */
  const applied = new Map<string, (number | undefined)[]>()
  const timesOf = (organization: string): readonly (number | undefined)[] => applied.get(organization) ?? []
  const latest = (organization: string): number => timesOf(organization).length
  const revisionAt: Catalog['revisionAt'] = (organization, instant) =>
    timesOf(organization).findLastIndex((at) => at !== undefined && at <= instant) + 1
  return {
    observe: (value) => {
      const { type, organization = '', revision, config, appliedAt = '' } = parse(value)
      if (type === 'FormContentApplied') return
      if (revision === undefined || revision <= latest(organization)) return
      const before = timesOf(organization)
      const unknown = Array.from({ length: revision - 1 - before.length }, () => undefined)
      applied.set(organization, [...before, ...unknown, Date.parse(appliedAt)])
      for (const project of config?.projects ?? []) {
        const name = `${organization}/${project.id}`
        const previous = projects.get(`${name}/${revision - 1}`)
        const now = projectOfRevision(project)
        projects.set(`${name}/${revision}`, isDeepStrictEqual(previous, now) && previous ? previous : now)
      }
    },
    project: (organization, project, revision) => projects.get(`${organization}/${project}/${revision}`),
    latest,
    revisionAt,
    lastRevisionAt: (organization, instant) => {
      const first = revisionAt(organization, instant)
      const unknown = timesOf(organization)
        .slice(first)
        .findIndex((at) => at !== undefined)
      return first + Math.max(0, unknown)
    },
    isKnown: (organization, revision) => {
      const times = timesOf(organization)
      return revision === 0 || revision > times.length || times[revision - 1] !== undefined
    },
    compacted: () =>
      Array.from(applied, ([organization, times]) => {
        return { organization, unknown: times.filter((at) => at === undefined).length, latest: times.length }
      }).filter(({ unknown }) => unknown > 0),
  }
}

export function projectOfRevision({
  forms = [],
  segments = [],
  formCooldown = '0s',
}: ProjectInFile): ProjectOfRevision {
  const rules = forms.map(formRuleOf)
  return {
    forms: new Map(rules.map((rule) => [rule.id, rule])),
    ...formIdsByTrigger(rules),
    segments: new Map(segments.map((segment) => [segment.id, segment.where])),
    cooldownMs: msOf(formCooldown),
    propertyCounts: propertyCountsIn(
      forms.flatMap(({ triggers = [] }) => triggers),
      [...forms.flatMap(({ audience }) => audience ?? []), ...segments.map(({ where }) => where)],
    ),
  }
}

/**
 * Indexes forms by trigger, because a project may have thousands and a record is compared only with forms that it may
 * trigger.
 */
function formIdsByTrigger(rules: readonly FormRule[]) {
  const ofEvents = rules.flatMap(({ id, triggers }) =>
    triggers.flatMap((trigger) => (trigger.on === 'event' ? [{ id, slug: trigger.slug }] : [])),
  )
  const bySlug = Map.groupBy(ofEvents, ({ slug }) => slug)
  return {
    formIdsByEvent: new Map(Array.from(bySlug, ([slug, forms]) => [slug, forms.map(({ id }) => id)])),
    formIdsOfAnyRecord: rules.filter(({ triggers }) => triggers.some(({ on }) => on !== 'event')).map(({ id }) => id),
  }
}

/** Parses a record; an unparsable value configures nothing. */
function parse(value: Buffer | null): Configured {
  try {
    return (JSON.parse(value?.toString('utf8') ?? '') ?? {}) as Configured
  } catch {
    return {}
  }
}
