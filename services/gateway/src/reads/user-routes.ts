import {
  type formTriggerEvaluatorCalls,
  isStorable,
  ROUTES,
  type userProjectorCalls,
  type UserQuery,
} from '@nextvisit/contracts'
import { checkUserName, userIdOf } from '@nextvisit/domain'
import type { CallClient } from '@nextvisit/service-kit'
import { type Refusal, REFUSALS, refuse, refuseBody } from '../refusals/refusals.ts'
import { answer, type CheckedRequest, type Route, type Result } from '../http/route.ts'
import { type KnownErasures, wasErased } from './erased-users.ts'

/** Routes that read one user (decisions.md, Beyond the document). */
export function createUserRoutes(
  { readUser }: CallClient<typeof userProjectorCalls>,
  { readQueue, readForms }: CallClient<typeof formTriggerEvaluatorCalls>,
  erasures: KnownErasures,
): readonly Route[] {
  async function getUser(request: CheckedRequest): Promise<Result> {
    const { deadlineAt } = request
    const named = namedUser(request)
    if (named.outcome === 'refused') return named
    const [user, queue] = await Promise.all([
      readUser(named.query, { deadlineAt }),
      readQueue(named.query, { deadlineAt }),
    ])
    if (user.outcome === 'not-found') return refuse(REFUSALS.user)
    if (user.outcome !== 'answered') return refuse(REFUSALS.notRead('user projector'))
    if (queue.outcome === 'unavailable') return refuse(REFUSALS.notRead('form trigger evaluator'))
    if (user.answer.stale && wasErased(erasures, named.query)) return refuse(REFUSALS.notRead('user projector'))
    // Segments that the workspace no longer has disappear at once, before their members are computed again.
    const known = new Set(request.project.config.segments.map(({ id }) => id))
    return answer(200, {
      ...user.answer,
      segments: user.answer.segments.filter((id) => known.has(id)),
      waitingForms: queue.outcome === 'answered' ? queue.answer.waiting : [],
    })
  }

  /** Explains which forms reached this user, and why others did not. */
  async function getUserForms(request: CheckedRequest): Promise<Result> {
    const named = namedUser(request)
    if (named.outcome === 'refused') return named
    const { query, userName } = named
    const forms = await readForms(query, { deadlineAt: request.deadlineAt })
    if (forms.outcome === 'not-found') return refuse(REFUSALS.user)
    if (forms.outcome !== 'answered') return refuse(REFUSALS.notRead('form trigger evaluator'))
    return answer(200, { userId: query.userId, userName, ...forms.answer })
  }

  return [
    { ...ROUTES.getUser, handle: getUser },
    // For names that cannot be part of a path.
    { ...ROUTES.findUser, handle: getUser },
    { ...ROUTES.getUserForms, handle: getUserForms },
  ]
}

/** Returns the user of a read, by `{userName}` in its path or `?userName=`. */
function namedUser({
  parameters,
  project: { organization, project },
}: CheckedRequest): Refusal | { readonly outcome: 'named'; readonly userName: string; readonly query: UserQuery } {
  const userName = parameters.get('userName') ?? ''
  const rejection = checkUserName(userName)
  if (rejection) return refuseBody(rejection)
  if (!isStorable(userName)) return refuse(REFUSALS.notStorable)
  const userId = userIdOf(organization, project, userName)
  return { outcome: 'named', userName, query: { organization, project, userId } }
}
