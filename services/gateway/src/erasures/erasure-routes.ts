import { BODY_LIMITS, isStorable, type ProjectRef, ROUTES, type userEraserCalls, Uuid } from '@nextvisit/contracts'
import { checkUserName, memberOf, parseErasureBody, userIdOf, uuidV5 } from '@nextvisit/domain'
import { type ChangeEnd, endOfLift } from '@nextvisit/operator-changes'
import type { CallClient } from '@nextvisit/service-kit'
import { type ErasureView, isSuppressionPlace, type RequestedErasure } from '@nextvisit/user-keys'
import type { RecordChange } from '../changes/record-change.ts'
import { answer, type CheckedRequest, type Result, type Route } from '../http/route.ts'
import type { KeptAnswers } from '../idempotency/kept-answers.ts'
import { endLock, resultWithoutLock } from '../ingest/stages.ts'
import { parsePage } from '../reads/page-query.ts'
import { MAX_SUPPRESSED_USERS, REFUSALS, refuse, refuseBody } from '../refusals/refusals.ts'
import type { ErasureOutcome, LiftSuppression, RequestErasure } from './request-erasure.ts'
import type { ReadSuppressions } from './read-suppressions.ts'

interface ErasureRoutesParts {
  readonly requestErasure: RequestErasure
  readonly liftSuppression: LiftSuppression
  readonly recordChange: RecordChange
  readonly keptAnswers: Pick<KeptAnswers, 'lock'>
  readonly userEraser: Pick<CallClient<typeof userEraserCalls>, 'readErasure' | 'listErasures'>
  readonly view: Pick<ErasureView, 'requested' | 'isSuppressed' | 'suppressedUsers'>
  readonly readSuppressions: ReadSuppressions
}

const DAY_MS = 24 * 3_600_000

/** Creates the routes that erase users (decisions.md, Erasure). Their keys need `mayErase`. */
export function createErasureRoutes(parts: ErasureRoutesParts): readonly Route[] {
  const { userEraser, readSuppressions } = parts

  async function getErasure({ parameters, project: place, deadlineAt }: CheckedRequest): Promise<Result> {
    const { organization, project } = place
    const erasureId = Uuid.safeParse(parameters.get('erasureId'))
    if (!erasureId.success) return refuse(REFUSALS.erasure)
    const asked = await userEraser.readErasure({ organization, project, erasureId: erasureId.data }, { deadlineAt })
    if (asked.outcome === 'not-found') return refuse(REFUSALS.erasure)
    return asked.outcome === 'answered' ? answer(200, asked.answer) : refuse(REFUSALS.notRead('user eraser'))
  }

  async function listErasures({ parameters, project: place, deadlineAt }: CheckedRequest): Promise<Result> {
    const { organization, project } = place
    const parsed = parsePage(parameters, (after) => Uuid.safeParse(after).success)
    if (parsed.outcome === 'refused') return parsed
    const asked = await userEraser.listErasures({ organization, project, ...parsed.query }, { deadlineAt })
    return asked.outcome === 'answered' ? answer(200, asked.answer) : refuse(REFUSALS.notRead('user eraser'))
  }

  async function listSuppressions({ parameters, project: place, deadlineAt }: CheckedRequest): Promise<Result> {
    const { organization, project } = place
    const parsed = parsePage(parameters, (after) => typeof after === 'string' && isSuppressionPlace(after))
    if (parsed.outcome === 'refused') return parsed
    const page = await readSuppressions({ organization, project, ...parsed.query }, deadlineAt)
    return page ? answer(200, page) : refuse(REFUSALS.notRead('list of suppressions'))
  }

  return [
    {
      ...ROUTES.requestErasure,
      maxItems: BODY_LIMITS.erasedUserNames,
      itemsOf: ({ body }) => {
        const parsed = parseErasureBody(body)
        return parsed.outcome === 'rejected' ? refuseBody(parsed) : parsed.value.userNames
      },
      handle: (request, userNames) => beginErasure(parts, request, userNames as readonly string[]),
    },
    { ...ROUTES.listErasures, handle: listErasures },
    { ...ROUTES.getErasure, handle: getErasure },
    { ...ROUTES.listSuppressions, handle: listSuppressions },
    { ...ROUTES.liftSuppression, handle: (request) => endSuppression(parts, request) },
  ]
}

async function beginErasure(
  { requestErasure, recordChange, keptAnswers, view }: ErasureRoutesParts,
  request: CheckedRequest,
  userNames: readonly string[],
): Promise<Result> {
  const { body, idempotency, project: place, receivedMs, deadlineAt, traceparent } = request
  const { organization, project } = place
  if (idempotency === 'malformed') return refuse(REFUSALS.idempotencyKey)
  const lock = await keptAnswers.lock(idempotency)
  if (lock.outcome !== 'locked') return resultWithoutLock(lock)
  let published: 'published' | 'not-published' | 'unknown' = 'unknown'
  let answered: ReturnType<typeof answer> | undefined
  try {
    const userIds = [...new Set(userNames.map((userName) => userIdOf(organization, project, userName)))]
    const suppress = memberOf(body, 'suppress') === true
    const erasureId = erasureIdOf(request, view)
    // A repeat is answered even if its own suppressions have reached the maximum.
    if (suppress && !view.requested(place, erasureId) && !hasRoomFor(view, place, userIds)) {
      published = 'not-published'
      return refuse(REFUSALS.suppressions)
    }
    const wanted = { place, userIds, suppress, erasureId, receivedMs, deadlineAt, traceparent }
    const details = { erasureId, users: userIds.length, suppress }
    const change = { kind: 'users.erase', changeId: erasureId, details } as const
    const recorded = await recordChange(request, change, () => requestErasure(wanted), endOfErasure)
    const requested = recorded.outcome === 'recorded' ? recorded.result : NOT_PUBLISHED
    published = requested.outcome
    if (requested.outcome !== 'published') return refuse(REFUSALS.notRecorded)
    answered = answer(202, begunOf(requested.erasure))
    return answered
  } finally {
    await endLock(lock, published, answered)
  }
}

const NOT_PUBLISHED = { outcome: 'not-published' } as const

function endOfErasure({ outcome }: ErasureOutcome): ChangeEnd {
  return outcome === 'published' ? { outcome: 'made' } : { outcome: 'failed', reason: outcome }
}

/** Returns true if a project may suppress these users, too. Requests at the same moment do not see each other. */
function hasRoomFor(
  view: Pick<ErasureView, 'isSuppressed' | 'suppressedUsers'>,
  { organization, project }: ProjectRef,
  userIds: readonly string[],
): boolean {
  const added = userIds.filter((userId) => !view.isSuppressed({ organization, project, userId })).length
  return added === 0 || view.suppressedUsers({ organization, project }) + added <= MAX_SUPPRESSED_USERS
}

/**
 * Returns the id of an erasure. A repeat under an `Idempotency-Key` has the same, so it begins no second erasure even if
 * Redis has lost the first answer. The day is part of it: a day later the same request is a new one, since the users may
 * have returned.
 */
function erasureIdOf(
  { idempotency, requestId, receivedMs, project }: CheckedRequest,
  view: Pick<ErasureView, 'requested'>,
): string {
  if (typeof idempotency !== 'object') return requestId
  const idOfDay = (ms: number) => uuidV5(new Date(ms).toISOString().slice(0, 10), idempotency.recordId)
  const yesterdays = idOfDay(receivedMs - DAY_MS)
  const before = view.requested(project, yesterdays)
  const isRepeat = before !== undefined && receivedMs - Date.parse(before.received) < DAY_MS
  return isRepeat ? yesterdays : idOfDay(receivedMs)
}

function begunOf({ id: erasureId, users, unknown, received: requestedAt }: RequestedErasure) {
  return { erasureId, users, unknown, status: 'running', requestedAt }
}

async function endSuppression(
  { liftSuppression, recordChange }: ErasureRoutesParts,
  request: CheckedRequest,
): Promise<Result> {
  const { parameters, requestId: id, project: place, receivedMs, deadlineAt, traceparent } = request
  const userName = parameters.get('userName') ?? ''
  const rejection = checkUserName(userName)
  if (rejection) return refuseBody(rejection)
  if (!isStorable(userName)) return refuse(REFUSALS.notStorable)
  const userId = userIdIn(place, userName)
  const recorded = await recordChange(
    request,
    { kind: 'suppression.lift', changeId: id, details: { userId } },
    () => liftSuppression({ place, userId, id, receivedMs, deadlineAt, traceparent }),
    endOfLift,
  )
  const outcome = recorded.outcome === 'recorded' ? recorded.result : 'unavailable'
  if (outcome === 'unavailable') return refuse(REFUSALS.notRecorded)
  return outcome === 'lifted' ? answer(204, {}) : refuse(REFUSALS.notSuppressed)
}

function userIdIn({ organization, project }: ProjectRef, userName: string): string {
  return userIdOf(organization, project, userName)
}
