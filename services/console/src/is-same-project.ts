import type { ProjectRef } from '@nextvisit/contracts'

/** Whether both are about the same project of the same organization. */
export function isSameProject(one: ProjectRef, other: ProjectRef): boolean {
  return one.organization === other.organization && one.project === other.project
}
