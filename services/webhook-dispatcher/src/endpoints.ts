import type { CatalogView, EndpointRef } from '@nextvisit/catalog'
import type { Webhook, WebhookEvent } from '@nextvisit/contracts'
import { projectKeyOf } from '@nextvisit/domain'

/** An endpoint of the catalog. */
export interface Endpoint extends EndpointRef {
  readonly webhook: Webhook
}

/** Returns the key of an endpoint in a `Map`, and its name in logs: `acme/shop/crm`. Ids contain no `/`. */
export function endpointKeyOf(endpoint: EndpointRef): string {
  return `${projectKeyOf(endpoint)}/${endpoint.endpointId}`
}

/** Returns the endpoint in the catalog; undefined: the project has none with this id, or this process does not understand it. */
export function webhookOf(
  catalog: Pick<CatalogView, 'project'>,
  { organization, project, endpointId }: EndpointRef,
): Webhook | undefined {
  return catalog.project(organization, project)?.config.webhooks.find(({ id }) => id === endpointId)
}

/** Returns every endpoint of the catalog. */
export function endpointsOf(catalog: Pick<CatalogView, 'projects'>): readonly Endpoint[] {
  return Array.from(catalog.projects()).flatMap(({ organization, config }) =>
    config.webhooks.map((webhook) => ({ organization, project: config.id, endpointId: webhook.id, webhook })),
  )
}

/** Returns true if a project of the catalog has an endpoint. */
export function hasEndpoints(catalog: Pick<CatalogView, 'projects'>): boolean {
  for (const { config } of catalog.projects()) if (config.webhooks.length > 0) return true
  return false
}

/** Returns the organizations whose latest configuration this process does not understand in full: an endpoint may be missing. */
export function doubtfulOrganizations(catalog: CatalogView): ReadonlySet<string> {
  return new Set(catalog.problems().map(({ organization }) => organization))
}

/** Returns true if an endpoint wants an event. */
export function wants({ events }: Pick<Webhook, 'events'>, event: WebhookEvent): boolean {
  return events?.includes(event) ?? true
}

/** Compares two instants in ISO text, which may have different precisions. */
export function isSameInstant(one: string, other: string): boolean {
  return Date.parse(one) === Date.parse(other)
}
