import type { UserRef } from '@nextvisit/contracts'
import { userIdOf } from '@nextvisit/domain'
import { createInProject } from '../catalog/find-project.ts'
import type { Dependencies } from '../dependencies.ts'
import { answered, refuse, serveApi } from '../http/api-route.ts'
import { sessionFields } from '../http/app.ts'
import type { Session } from '../http/sessions.ts'
import { named } from '../services.ts'
import { erasuresApi } from './api.ts'

const ERASURES_A_PAGE = 50
const SUPPRESSIONS_A_PAGE = 50

const ILL_FORMED = refuse(400, 'bad-input', 'userName: must not contain lone surrogates')
const ANOTHER_NAME = refuse(
  400,
  'another-name',
  'This is not the userName of this person. It must match exactly, including capitals and spaces. Nothing was erased.',
)
const NO_ERASURE = refuse(404, 'no-erasure', 'The project has no such erasure.')
const NOT_SUPPRESSED = refuse(404, 'not-suppressed', 'No user of this name is suppressed in the project.')
const UNAVAILABLE = refuse(
  503,
  'unavailable',
  'The request is not in the log for sure: Kafka or the user projector does not answer. Check the list of erasures, and try again. A second erasure of a person does no harm.',
)
const NOT_LIFTED = refuse(
  503,
  'unavailable',
  'The suppression is not lifted for sure: the gateway has not read the erasures yet, or Kafka does not answer. Try again, until the list no longer has it.',
)

/** Creates the routes that erase people, and that show what has become of it. */
export function createErasureRoutes({
  catalog,
  gateway,
  eraser,
  logger,
}: Pick<Dependencies, 'catalog' | 'gateway' | 'eraser' | 'logger'>) {
  const inProject = createInProject(catalog)

  function note(action: string, session: Session, members: UserRef & { readonly erasureId?: string }): void {
    const { organization, project, userId, erasureId } = members
    const about = { organization, project, userId, ...(erasureId !== undefined && { erasureId }) }
    logger.info({ action, ...sessionFields(session), ...about }, 'console action')
  }

  return serveApi(erasuresApi, {
    eraseUser: inProject(async (_, { userName, suppress, organization, project, userId }, session) => {
      if (!userName.isWellFormed()) return ILL_FORMED
      if (userIdOf(organization, project, userName) !== userId) return ANOTHER_NAME
      const asked = await gateway.requestErasure({ organization, project, userIds: [userId], suppress })
      if (asked.outcome === 'refused') return asked
      const { outcome, erasureId } = asked.answer
      if (outcome === 'unavailable') return UNAVAILABLE
      note('erasure requested', session, { organization, project, userId, erasureId })
      return answered({ erasureId })
    }),
    listErasures: inProject(async (_, { organization, project, after }, _session, signal) => {
      const read = await eraser.listErasures({ organization, project, limit: ERASURES_A_PAGE, after }, signal)
      if (read.outcome === 'refused') return read
      const { erasures, next } = read.answer
      return answered({ erasures, next })
    }),
    readErasure: inProject(async (_, { organization, project, erasureId }, _session, signal) =>
      named(await eraser.readErasure({ organization, project, erasureId }, signal), NO_ERASURE),
    ),
    listSuppressions: inProject(async (_, { organization, project, after }, _session, signal) => {
      const read = await gateway.readSuppressions({ organization, project, limit: SUPPRESSIONS_A_PAGE, after }, signal)
      if (read.outcome === 'refused') return read
      return read.answer.page ? answered(read.answer.page) : UNKNOWN_SUPPRESSIONS
    }),
    liftSuppression: inProject(async (_, { organization, project, userName }, session) => {
      if (!userName.isWellFormed()) return ILL_FORMED
      const user = { organization, project, userId: userIdOf(organization, project, userName) }
      const lifted = await gateway.liftSuppression(user)
      if (lifted.outcome === 'refused') return lifted
      if (lifted.answer.outcome === 'unknown') return NOT_SUPPRESSED
      if (lifted.answer.outcome === 'unavailable') return NOT_LIFTED
      note('suppression lifted', session, user)
      return answered({})
    }),
  })
}

const UNKNOWN_SUPPRESSIONS = refuse(
  503,
  'no-suppressions',
  'The gateway has not read the erasures yet, or the user eraser does not answer. The Overview says more.',
)
