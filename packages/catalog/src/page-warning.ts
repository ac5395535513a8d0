import type { CatalogProject } from './catalog-view.ts'

/**
 * Returns a warning about a project whose pages anyone can imitate: it has a publishable key for production, which every
 * visitor can read, and requires no `userSignature` (decisions.md, Publishable keys). undefined: nothing to warn about.
 */
export function pageWarning({
  organization,
  project,
  config: { keys, requireUserSignature, sdk },
}: Pick<CatalogProject, 'organization' | 'project' | 'config'>): string | undefined {
  const names = keys.flatMap(({ name, kind, environment }) => (kind === 'sdk' && environment === 'P' ? name : []))
  if (requireUserSignature || names.length === 0) return undefined
  const traits = sdk.settableTraits ? '' : ' and change every trait'
  const remedy = sdk.settableTraits ? '' : ', and list the traits that pages may change in sdk.settableTraits'
  return (
    `${organization}/${project}: anyone who reads the publishable key (${names.join(', ')}) can act as any user${traits}. ` +
    `Set requireUserSignature${remedy}.`
  )
}
