import type { UserPath } from '../api/users.ts'
import type { Session } from '../session/sessions.ts'
import { HIDE_PERSONAL, type Mask, SHOW_ALL } from './mask.ts'

/** Operators see everything; viewers see personal data of users for whom they asked. */
export function maskFor({ role, revealed }: Session, path: UserPath): Mask {
  return role === 'operator' || revealed.has(revealedName(path)) ? SHOW_ALL : HIDE_PERSONAL
}

/** How a session names a user in `revealed`. */
export function revealedName({ organization, project, userId }: UserPath): string {
  return `${organization}/${project}/${userId}`
}
