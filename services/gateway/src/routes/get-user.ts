import { remainingMs } from '../budget.ts'
import type { Owners } from '../owners.ts'
import { busy, refuse } from '../refusal.ts'
import { answer, type Route } from '../route.ts'
import { ROUTES } from '../route-table.ts'
import { namedUser } from './named-user.ts'

/** `GET /v2/admin/users/{userName}`, or `?userName=` for names that do not fit into a path (decisions.md, Beyond the document). */
export function createGetUser({ readUser, readQueue }: Pick<Owners, 'readUser' | 'readQueue'>): readonly Route[] {
  return [ROUTES.getUser, ROUTES.findUser].map((signature) => ({
    ...signature,
    handle: async (request) => {
      const named = namedUser(request)
      if (named.outcome === 'refused') return named
      const [user, queue] = await Promise.all([
        readUser(named.who, remainingMs(request.deadlineAt)),
        readQueue(named.who, remainingMs(request.deadlineAt)),
      ])
      if (user.outcome === 'missing') return refuse(404, 'User not found')
      if (user.outcome !== 'found' || queue.outcome === 'away') return busy('This can not be read now: try again')
      // What was removed from the workspace vanishes at once, not only when its members were computed anew.
      const known = new Set(request.project.config.segments.map(({ id }) => id))
      return answer(200, {
        ...user.value,
        segments: user.value.segments.filter((id) => known.has(id)),
        waitingForms: queue.outcome === 'found' ? queue.value.waiting : [],
      })
    },
  }))
}
