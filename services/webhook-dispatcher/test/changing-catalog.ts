import { type CatalogProblem, type CatalogView, emptyCatalog, foldCatalog, lookupsOf } from '@nextvisit/catalog'
import { OrganizationConfig, type Webhook } from '@nextvisit/contracts'

/** An endpoint of specs, by the members that differ. */
export type SpecWebhook = Partial<Webhook> & Pick<Webhook, 'id' | 'addedAt'>

export function webhookOf(special: SpecWebhook): Webhook {
  return { url: 'https://crm.example/hook', secret: 'sealed', include: [], enabled: true, ...special }
}

/** Returns an organization whose project `shop` has these endpoints. */
export function organizationOf(id: string, webhooks: readonly SpecWebhook[]): OrganizationConfig {
  return OrganizationConfig.parse({ id, projects: [{ id: 'shop', webhooks: webhooks.map(webhookOf) }] })
}

/** Creates a view that a spec changes like `apply`. */
export function createChangingCatalog() {
  const state = emptyCatalog()
  const lookups = lookupsOf(state)
  const listeners: ((organization: string) => void)[] = []
  const problems = new Map<string, CatalogProblem>()
  const revisions = new Map<string, number>()
  const view: CatalogView = {
    ...lookups,
    problems: () => [...lookups.problems(), ...problems.values()],
    onChange: (listener) => void listeners.push(listener),
    currentAsOfMs: () => performance.now(),
  }

  function replace(organization: string, webhooks: readonly SpecWebhook[]): number {
    const revision = (revisions.get(organization) ?? 0) + 1
    revisions.set(organization, revision)
    problems.delete(organization)
    const id = '00000000-0000-4000-8000-000000000000'
    const config = organizationOf(organization, webhooks)
    foldCatalog(state, { outcome: 'read', id, organization, revision, config, notUnderstood: [] })
    return revision
  }

  return {
    view,
    /** Replaces the endpoints of an organization. */
    apply: (organization: string, webhooks: readonly SpecWebhook[]): void => {
      replace(organization, webhooks)
      for (const listener of listeners) listener(organization)
    },
    /** Replaces the endpoints of an organization by those that this version understands. Batches see it before ticks do. */
    misunderstand: (organization: string, webhooks: readonly SpecWebhook[]): void => {
      const revision = replace(organization, webhooks)
      const reason = 'webhook crm is not understood'
      problems.set(organization, { organization, revision, usedRevision: revision, reason })
    },
  }
}
