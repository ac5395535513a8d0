/** How often a form may reach the same user: `once` is 1. Other frequencies are no such limit. */
export interface RepeatLimits {
  readonly timesOf: (form: FormOfRevision) => number | undefined
}

interface FormOfRevision {
  readonly organization: string
  readonly project: string
  readonly formId: string
  readonly catalogRevision: number
}

interface Config {
  readonly projects?: readonly {
    readonly id: string
    readonly forms?: readonly { readonly id: string; readonly frequency?: { readonly repeat?: unknown } }[]
  }[]
}

interface Configured {
  readonly organization?: string
  readonly revision?: number
  readonly config?: Config | null
}

/** Learns them from the records of the topic `catalog`, in order: each organization's next revision is valid, no other. */
export function createRepeatLimits(): RepeatLimits & { readonly learn: (value: Buffer | null) => void } {
  const limits = new Map<string, number | undefined>()
  const revisions = new Map<string, number>()
  return {
    learn: (value) => {
      const { organization = '', revision, config } = parse(value)
      if (revision !== (revisions.get(organization) ?? 0) + 1) return
      revisions.set(organization, revision)
      for (const project of config?.projects ?? []) {
        for (const { id, frequency } of project.forms ?? []) {
          limits.set(`${organization}/${project.id}/${id}/${revision}`, timesOf(frequency?.repeat ?? 'once'))
        }
      }
    },
    timesOf: ({ organization, project, formId, catalogRevision }) =>
      limits.get(`${organization}/${project}/${formId}/${catalogRevision}`),
  }
}

function timesOf(repeat: unknown): number | undefined {
  if (repeat === 'once') return 1
  const times = typeof repeat === 'object' && repeat !== null ? (repeat as { times?: unknown }).times : undefined
  return typeof times === 'number' ? times : undefined
}

/** What no one can parse configures nothing. */
function parse(value: Buffer | null): Configured {
  try {
    return (JSON.parse(value?.toString('utf8') ?? '') ?? {}) as Configured
  } catch {
    return {}
  }
}
