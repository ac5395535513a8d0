import type { Condition } from './condition.ts'

/** What a project says in one revision of its organization's configuration, as far as counting again needs it. */
export interface ProjectOfRevision {
  /** How often a form may reach the same user, by its id: `once` is 1. Other frequencies are no such limit. */
  readonly timesOf: ReadonlyMap<string, number>
  /** Conditions of its segments, by their ids. */
  readonly segments: ReadonlyMap<string, Condition>
}

export interface Catalog {
  readonly project: (organization: string, project: string, revision: number) => ProjectOfRevision | undefined
  /** An organization's latest revision; 0: it was never configured. */
  readonly latest: (organization: string) => number
}

interface Config {
  readonly projects?: readonly {
    readonly id: string
    readonly forms?: readonly { readonly id: string; readonly frequency?: { readonly repeat?: unknown } }[]
    readonly segments?: readonly { readonly id: string; readonly where: Condition }[]
  }[]
}

interface Configured {
  readonly organization?: string
  readonly revision?: number
  readonly config?: Config | null
}

/** Learns from the records of the topic `catalog`, in order: each organization's next revision is valid, no other. */
export function createCatalog(): Catalog & { readonly learn: (value: Buffer | null) => void } {
  const projects = new Map<string, ProjectOfRevision>()
  const revisions = new Map<string, number>()
  return {
    learn: (value) => {
      const { organization = '', revision, config } = parse(value)
      if (revision !== (revisions.get(organization) ?? 0) + 1) return
      revisions.set(organization, revision)
      for (const { id, forms = [], segments = [] } of config?.projects ?? []) {
        projects.set(`${organization}/${id}/${revision}`, {
          timesOf: new Map(forms.flatMap((form) => limitOf(form.id, form.frequency?.repeat ?? 'once'))),
          segments: new Map(segments.map((segment) => [segment.id, segment.where])),
        })
      }
    },
    project: (organization, project, revision) => projects.get(`${organization}/${project}/${revision}`),
    latest: (organization) => revisions.get(organization) ?? 0,
  }
}

function limitOf(formId: string, repeat: unknown): [string, number][] {
  if (repeat === 'once') return [[formId, 1]]
  const times = typeof repeat === 'object' && repeat !== null ? (repeat as { times?: unknown }).times : undefined
  return typeof times === 'number' ? [[formId, times]] : []
}

/** What no one can parse configures nothing. */
function parse(value: Buffer | null): Configured {
  try {
    return (JSON.parse(value?.toString('utf8') ?? '') ?? {}) as Configured
  } catch {
    return {}
  }
}
