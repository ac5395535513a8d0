import { isDeepStrictEqual } from 'node:util'
import { type Condition, msOf } from './condition.ts'
import { type FormInFile, type FormRule, formRuleOf } from './form-rules.ts'

/** A project in one revision of its organization's configuration, as far as the audit needs it. */
export interface ProjectOfRevision {
  /** By id. */
  readonly forms: ReadonlyMap<string, FormRule>
  /** Across its forms; 0: none. */
  readonly cooldownMs: number
  /** Conditions of its segments, by their ids. */
  readonly segments: ReadonlyMap<string, Condition>
}

export interface Catalog {
  /** The same object as long as nothing in it changes. */
  readonly project: (organization: string, project: string, revision: number) => ProjectOfRevision | undefined
  /** An organization's latest revision. 0: it was never configured. */
  readonly latest: (organization: string) => number
  /** An organization's revision at an instant (ms), by the clock of the machine that applied it. */
  readonly revisionAt: (organization: string, instant: number) => number
}

interface ProjectInFile {
  readonly id: string
  readonly formCooldown?: string
  readonly forms?: readonly FormInFile[]
  readonly segments?: readonly { readonly id: string; readonly where: Condition }[]
}

interface Configured {
  readonly organization?: string
  readonly revision?: number
  readonly config?: { readonly projects?: readonly ProjectInFile[] } | null
  readonly appliedAt?: string
}

/**
 * Folds the records of the topic `catalog`, in order: a record is valid if its revision is greater than the one before. A
 * compacted topic has lost old revisions, so there may be gaps.
 */
export function createCatalog(): Catalog & { readonly observe: (value: Buffer | null) => void } {
  const projects = new Map<string, ProjectOfRevision>()
  /** When each revision was applied, the first one first. */
  const applied = new Map<string, number[]>()
  const latest = (organization: string): number => applied.get(organization)?.length ?? 0
  return {
    observe: (value) => {
      const { organization = '', revision, config, appliedAt = '' } = parse(value)
      if (revision === undefined || revision <= latest(organization)) return
      const times = [...(applied.get(organization) ?? [])]
      times[revision - 1] = Date.parse(appliedAt)
      applied.set(organization, times)
      for (const project of config?.projects ?? []) {
        const name = `${organization}/${project.id}`
        const before = projects.get(`${name}/${revision - 1}`)
        const now = ofRevision(project)
        projects.set(`${name}/${revision}`, isDeepStrictEqual(before, now) && before ? before : now)
      }
    },
    project: (organization, project, revision) => projects.get(`${organization}/${project}/${revision}`),
    latest,
    revisionAt: (organization, instant) => (applied.get(organization) ?? []).findLastIndex((at) => at <= instant) + 1,
  }
}

function ofRevision({ forms = [], segments = [], formCooldown = '0s' }: ProjectInFile): ProjectOfRevision {
  return {
    forms: new Map(forms.map((form) => [form.id, formRuleOf(form)])),
    segments: new Map(segments.map((segment) => [segment.id, segment.where])),
    cooldownMs: msOf(formCooldown),
  }
}

/** A value that cannot be parsed configures nothing. */
function parse(value: Buffer | null): Configured {
  try {
    return (JSON.parse(value?.toString('utf8') ?? '') ?? {}) as Configured
  } catch {
    return {}
  }
}
