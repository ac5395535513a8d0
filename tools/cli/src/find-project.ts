import { type CatalogProject, type CatalogState, lookupsOf, readCatalog } from '@nextvisit/catalog'
import type { ProjectRef } from '@nextvisit/contracts'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import { logConnection } from './environment/config.ts'
import { CliError, EXIT } from './errors.ts'

/** A project as an operator names it. Without `organization`, its id must be of one project only. */
export type ProjectName = Pick<ProjectRef, 'project'> & Partial<ProjectRef>

/** Help of every option `--project <project>`. */
export const PROJECT_HELP = 'its id; organization/project if several organizations have this id'

/**
 * Finds a project in the catalog. Throws a {@link CliError} that lists the projects if none or several match.
 */
export function findProject(state: CatalogState, name: ProjectName): CatalogProject {
  const all = [...lookupsOf(state).projects()]
  const found = findAmong(all, name)
  if (found) return found
  throw new CliError(
    `There is no project ${projectName(name)}. ${knownNames('project', all.map(projectName))}`,
    EXIT.usage,
  )
}

/** Returns the project of this name; undefined if none has it. Throws a {@link CliError} that lists the projects if several have. */
export function findAmong<Project extends ProjectRef>(
  all: readonly Project[],
  { organization, project }: ProjectName,
): Project | undefined {
  const found = all.filter((one) => one.project === project && (organization ?? one.organization) === one.organization)
  if (found.length <= 1) return found[0]
  const names = found.map(projectName).join(' or ')
  throw new CliError(`Several organizations have a project ${project}: use --project ${names}.`, EXIT.usage)
}

/**
 * Returns the project with its organization. If it is given, this needs no catalog, so it works without Kafka and for a
 * project that was removed.
 */
export async function completeProject(
  name: ProjectName,
  env: EnvironmentVariables,
  topic: string,
): Promise<ProjectRef> {
  const { organization, project } = name
  if (organization !== undefined) return { organization, project }
  const { state } = await readCatalog(logConnection(env), topic)
  return { organization: findProject(state, name).organization, project }
}

/** Throws like {@link findProject} if the project does not exist. If the log is unavailable, the project is assumed to exist. */
export async function requireProject(place: ProjectRef, env: EnvironmentVariables, topic: string): Promise<void> {
  if (env['KAFKA_BROKERS'] === undefined) return
  const catalog = await readCatalog(logConnection(env), topic).catch(() => undefined)
  if (catalog) findProject(catalog.state, place)
}

/** Returns `organization/project`, or the project alone if it was named so. */
export function projectName({ organization, project }: ProjectName): string {
  return organization === undefined ? project : `${organization}/${project}`
}

/** Lists names, such as `Known: ces, nps.` */
export function knownNames(noun: string, names: readonly string[]): string {
  return names.length === 0 ? `There are no ${noun}s.` : `Known: ${names.toSorted().join(', ')}.`
}
