import type { EndpointRef } from './catalog-secret.ts'
import type { CatalogView } from './catalog-view.ts'

/**
 * Returns whether the catalog has no endpoint with this id, with certainty: one that this process does not understand, or
 * that may be in a record that it cannot read, is not removed.
 */
export function isWebhookRemoved(
  { project, problems }: Pick<CatalogView, 'project' | 'problems'>,
  { organization, project: projectId, endpointId }: EndpointRef,
): boolean {
  const problem = problems().find((one) => one.organization === organization)
  if (problem && !problem.isMissingContent && problem.usedRevision !== problem.revision) return false
  const held = project(organization, projectId)
  if (!held) return true
  const unread = held.notUnderstood.filter(({ kind }) => kind === 'webhook')
  return ![...held.config.webhooks, ...unread].some(({ id }) => id === endpointId || id === '?')
}
