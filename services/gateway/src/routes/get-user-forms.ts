import { remainingMs } from '../budget.ts'
import type { Owners } from '../owners.ts'
import { busy, refuse } from '../refusal.ts'
import { answer, type Route } from '../route.ts'
import { ROUTES } from '../route-table.ts'
import { namedUser } from './named-user.ts'

/** `GET /v2/admin/users/{userName}/forms`: why each form did, or did not, reach this user (decisions.md, Beyond the document). */
export function createGetUserForms({ readForms }: Pick<Owners, 'readForms'>): Route {
  return {
    ...ROUTES.getUserForms,
    handle: async (request) => {
      const named = namedUser(request)
      if (named.outcome === 'refused') return named
      const { who, userName } = named
      const read = await readForms(who, remainingMs(request.deadlineAt))
      if (read.outcome === 'missing') return refuse(404, 'User not found')
      if (read.outcome !== 'found') return busy('This can not be read now: try again')
      return answer(200, { userId: who.userId, userName, ...read.value })
    },
  }
}
