import { type CatalogProject, type CatalogState, lookupsOf } from '@nextvisit/catalog'
import type { ProjectRef } from '@nextvisit/contracts'
import { CliError, EXIT } from './errors.ts'

/**
 * Finds a project by its id or by `organization/project`. Throws a {@link CliError} that lists the projects if none or
 * several match.
 */
export function findProject(state: CatalogState, name: string): CatalogProject {
  const all = [...lookupsOf(state).projects()]
  const found = all.filter((one) => projectName(one) === name || one.project === name)
  if (found.length > 1) {
    const names = found.map(projectName).join(' or ')
    throw new CliError(`Several organizations have a project ${name}: use --project ${names}.`, EXIT.usage)
  }
  const [one] = found
  if (one) return one
  throw new CliError(`There is no project ${name}. ${knownNames('project', all.map(projectName))}`, EXIT.usage)
}

/** Returns `organization/project`. */
export function projectName({ organization, project }: ProjectRef): string {
  return `${organization}/${project}`
}

/** Lists names, such as `Known: ces, nps.` */
export function knownNames(noun: string, names: readonly string[]): string {
  return names.length === 0 ? `There are no ${noun}s.` : `Known: ${names.toSorted().join(', ')}.`
}
