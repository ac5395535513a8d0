import { type CatalogProject, type CatalogState, lookupsOf } from '@nextvisit/catalog'
import type { ProjectRef } from '@nextvisit/contracts'
import { CliError, EXIT } from './errors.ts'

/** The project of this id, or of `organization/project`. Throws a `CliError` that names the projects where there is none, or several. */
export function findProject(state: CatalogState, name: string): CatalogProject {
  const all = [...lookupsOf(state).projects()]
  const found = all.filter((one) => nameOf(one) === name || one.project === name)
  if (found.length > 1) {
    const names = found.map(nameOf).join(' or ')
    throw new CliError(`Several organizations have a project ${name}: say --project ${names}.`, EXIT.usage)
  }
  const [one] = found
  if (one) return one
  throw new CliError(`There is no project ${name}. ${thereIs('project', all.map(nameOf))}`, EXIT.usage)
}

function nameOf({ organization, project }: ProjectRef): string {
  return `${organization}/${project}`
}

/** `There is ces, nps.` */
export function thereIs(what: string, names: readonly string[]): string {
  return names.length === 0 ? `There is no ${what} at all.` : `There is ${names.toSorted().join(', ')}.`
}
