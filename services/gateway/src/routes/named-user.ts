import type { UserQuery } from '@nextvisit/contracts'
import { checkUserName, userIdOf } from '@nextvisit/domain'
import { type Refusal, refuse, refuseBody } from '../refusal.ts'
import type { CheckedRequest } from '../route.ts'

/** Whom a read is about, by `{userName}` in its path or `?userName=`. */
export function namedUser({
  pathParameters,
  query,
  project: { organization, project },
}: CheckedRequest): Refusal | { readonly outcome: 'named'; readonly userName: string; readonly who: UserQuery } {
  const userName = pathParameters.get('userName') ?? query.get('userName') ?? ''
  const rejection = checkUserName(userName)
  if (rejection) return refuseBody(rejection)
  if (!userName.isWellFormed() || userName.includes('\u0000'))
    return refuse(400, 'userName must hold no U+0000 and no lone surrogates')
  return {
    outcome: 'named',
    userName,
    who: { organization, project, userId: userIdOf(organization, project, userName) },
  }
}
