import type { Answer } from '../../../src/api-routes.ts'
import type { UserPath } from '../../../src/users/api.ts'
import { isUuid } from '../users/is-uuid.ts'

/**
 * Returns the user of a record; undefined: unknown. The key is the userId. The value names the project; if it names none, the
 * project is known only if there is just one.
 */
export function userOfRecord(
  { key, value }: Pick<NonNullable<Answer<'readDeadLetter'>['content']>, 'key' | 'value'>,
  projects: Answer<'listProjects'>['projects'],
): UserPath | undefined {
  const userId = key?.text ?? ''
  if (!isUuid(userId)) return undefined
  const { organization, project } = membersOf(value)
  const isNamed = organization !== undefined || project !== undefined
  const [place, ...others] = isNamed
    ? projects.filter((one) => one.organization === organization && one.project === project)
    : projects
  return place && others.length === 0 ? { ...place, userId } : undefined
}

function membersOf(
  value: NonNullable<Answer<'readDeadLetter'>['content']>['value'],
): Readonly<Record<string, unknown>> {
  if (value?.form !== 'json' || value.isCut) return {}
  const json: unknown = JSON.parse(value.text)
  return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {}
}
