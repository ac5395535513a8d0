import { checkUserName, userIdOf } from '@nextvisit/domain'
import { remainingMs } from '../budget.ts'
import type { Owners } from '../owners.ts'
import { busy, refuse, refuseBody } from '../refusal.ts'
import { answer, type Route } from '../route.ts'
import { ROUTES } from '../route-table.ts'

/** `GET /v2/admin/users/{userName}`, or `?userName=` for names that do not fit into a path (decisions.md, Beyond the document). */
export function createGetUser({ readUser, readQueue }: Pick<Owners, 'readUser' | 'readQueue'>): readonly Route[] {
  return [ROUTES.getUser, ROUTES.findUser].map((signature) => ({
    ...signature,
    handle: async ({ pathParameters, query, project: { organization, project }, deadlineAt }) => {
      const userName = pathParameters.get('userName') ?? query.get('userName') ?? ''
      const rejection = checkUserName(userName)
      if (rejection) return refuseBody(rejection)
      if (!userName.isWellFormed() || userName.includes('\u0000'))
        return refuse(400, 'userName must hold no U+0000 and no lone surrogates')
      const who = { organization, project, userId: userIdOf(organization, project, userName) }
      const [user, queue] = await Promise.all([
        readUser(who, remainingMs(deadlineAt)),
        readQueue(who, remainingMs(deadlineAt)),
      ])
      if (user.outcome === 'missing') return refuse(404, 'User not found')
      if (user.outcome !== 'found' || queue.outcome === 'away') return busy('This can not be read now: try again')
      return answer(200, { ...user.value, waitingForms: queue.outcome === 'found' ? queue.value.waiting : [] })
    },
  }))
}
