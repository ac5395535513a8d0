import type { ProjectRef } from './facts.ts'

/** An endpoint of webhooks in the latest revision of its organization. */
export interface WebhookEndpoint {
  readonly id: string
  readonly addedAt: string
  /** The events that it has wanted since it was added, in each revision. undefined: all. */
  readonly events: ReadonlySet<string> | undefined
  /** False: revisions are unknown, in which it may have wanted others. */
  readonly isCertain: boolean
}

interface Configured {
  readonly type?: string
  readonly organization?: string
  readonly revision?: number
  readonly config?: {
    readonly projects?: readonly {
      readonly id: string
      readonly webhooks?: readonly {
        readonly id: string
        readonly addedAt: string
        readonly events?: readonly string[]
      }[]
    }[]
  } | null
}

/** Folds the endpoints of the topic `catalog`, in its order. */
export function createWebhookEndpoints() {
  const revisions = new Map<string, number>()
  const byProject = new Map<string, ReadonlyMap<string, WebhookEndpoint>>()

  return {
    observe: (value: Buffer | null): void => {
      const { type, organization = '', revision, config } = parse(value)
      const before = revisions.get(organization) ?? 0
      if (type === 'FormContentApplied' || revision === undefined || revision <= before) return
      revisions.set(organization, revision)
      const known = new Map(byProject)
      for (const name of known.keys()) if (name.startsWith(`${organization}/`)) byProject.delete(name)
      for (const { id: project, webhooks = [] } of config?.projects ?? []) {
        const previous = known.get(`${organization}/${project}`)
        const own = webhooks.map(({ id, addedAt, events }): [string, WebhookEndpoint] => {
          const same = previous?.get(id)?.addedAt === addedAt ? previous.get(id) : undefined
          const isCertain = revision === before + 1 && same?.isCertain !== false
          return [id, { id, addedAt, events: both(same?.events, events && new Set(events)), isCertain }]
        })
        byProject.set(`${organization}/${project}`, new Map(own))
      }
    },
    /** Returns the endpoint; undefined: the latest revision has none. */
    find: ({ organization, project }: ProjectRef, id: string): WebhookEndpoint | undefined =>
      byProject.get(`${organization}/${project}`)?.get(id),
  }
}

function both(one: WebhookEndpoint['events'], other: WebhookEndpoint['events']): WebhookEndpoint['events'] {
  return one && other ? new Set([...one].filter((event) => other.has(event))) : (one ?? other)
}

/** Parses a record; an unparsable value configures nothing. */
function parse(value: Buffer | null): Configured {
  try {
    return (JSON.parse(value?.toString('utf8') ?? '') ?? {}) as Configured
  } catch {
    return {}
  }
}
