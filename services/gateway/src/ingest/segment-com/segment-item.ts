import { hash } from 'node:crypto'
import { ROUTES } from '@nextvisit/contracts'
import { type JsonObject, memberIn, memberOf, parseSegmentComMessage, userIdOf } from '@nextvisit/domain'
import type { KnownUsers } from '../../admission/known-users.ts'
import { type Answer, answer } from '../../api/answer.ts'
import { type Refusal, refuseBody } from '../../api/refusals.ts'
import { isIdempotencyKey } from '../../http/idempotent-request.ts'
import type { CheckedRequest } from '../../http/route.ts'
import type { RecordLog } from '../../publishing/record-log.ts'
import {
  createPrepareInOrder,
  itemRequestOf,
  type Prepare,
  type PreparedItem,
  type PrepareItem,
  type PublishableItem,
  publishItem,
} from '../record-items.ts'

export interface SegmentItemParts {
  readonly prepare: Prepare
  readonly log: Pick<RecordLog, 'placeOf'>
  readonly knownUsers: Pick<KnownUsers, 'check'>
  /** What was accepted and is not recorded: messages, and values of traits. */
  readonly onLeftOut: (reason: 'anonymous' | 'type' | 'trait', count: number) => void
}

/** A user who needs no identify before an event, or that identify. */
type KnownUser = 'identified' | PreparedItem

/** What a message is answered with that leaves no record. */
export const NOTHING_RECORDED = answer(200, {})

/** Prepares the messages of one request (decisions.md, Segment's API). `type`: of all of them, or undefined for their own. */
export function createPrepareSegmentItem(
  { prepare, log, knownUsers, onLeftOut }: SegmentItemParts,
  request: CheckedRequest,
  type: string | undefined,
): PrepareItem {
  const prepareInOrder = createPrepareInOrder(prepare)
  const createUsers = request.project.config.segment?.createUsers ?? true
  /** By userName: what the messages so far say of the user; undefined where they say nothing. */
  const users = new Map<unknown, Promise<KnownUser | undefined>>()
  /** By userName: what the last event so far waits for. */
  const eventsWaitFor = new Map<unknown, Promise<KnownUser>>()

  /** Whether the user was never identified. False where that is not known. */
  async function isMissing(userName: string): Promise<boolean> {
    const { organization, project } = request.project
    const place = log.placeOf(userIdOf(organization, project, userName))
    if (!place) return false
    return (await knownUsers.check({ organization, project, ...place }, request.admissionDeadlineAt)) === 'missing'
  }

  async function createUnlessKnown(
    before: Promise<KnownUser | undefined> | undefined,
    userName: unknown,
    identifying: () => CheckedRequest,
  ): Promise<KnownUser> {
    const known = await before
    if (known !== undefined) return known
    const isNew = createUsers && typeof userName === 'string' && (await isMissing(userName))
    return isNew ? prepareInOrder('identify', identifying()) : 'identified'
  }

  function prepareIdentify(identifying: CheckedRequest): Promise<PreparedItem> {
    const userName = memberOf(identifying.body, 'userName')
    const prepareNext = () => prepareInOrder('identify', identifying)
    // An event before it goes first, also where it waits.
    const prepared = eventsWaitFor.get(userName)?.then(prepareNext) ?? prepareNext()
    users.set(userName, knownAfter(prepared, users.get(userName)))
    return prepared
  }

  /** An event of an unknown user identifies them first. */
  async function prepareTrack(tracking: CheckedRequest, identifying: () => CheckedRequest): Promise<PublishableItem> {
    const userName = memberOf(tracking.body, 'userName')
    const known = createUnlessKnown(users.get(userName), userName, identifying)
    users.set(userName, known)
    eventsWaitFor.set(userName, known)
    const user = await known
    if (user === 'identified' || user.outcome === 'answered') return prepareInOrder('track', tracking)
    if (user.outcome === 'refused') return user
    const event = await prepareInOrder('track', { ...tracking, isIdentified: Promise.resolve(true) })
    return {
      outcome: 'prepared',
      publish: () => publishBoth(user.publish(), publishItem(event)),
    }
  }

  return async (message) => {
    const sentAt = memberIn(message, 'sentAt') ?? memberIn(request.body, 'sentAt')
    const clock = { sentAt, receivedMs: request.receivedMs }
    const parsed = parseSegmentComMessage(message, type ?? memberIn(message, 'type'), clock, request.project)
    if (parsed.outcome === 'rejected') return refuseBody(parsed)
    if (parsed.outcome === 'ignored') {
      onLeftOut(parsed.reason, 1)
      return NOTHING_RECORDED
    }
    const key = keyOfMessage(message)
    /** The record of the message itself, or of the user whom it creates. */
    const requestOf = (body: JsonObject, suffix: 'message' | 'user') =>
      itemRequestOf(request, body, { key, suffix, route: ROUTES.segmentBatch.pattern, bytes: parsed.content })
    if (parsed.outcome === 'track')
      return prepareTrack(requestOf(parsed.track, 'message'), () => requestOf(parsed.identify, 'user'))
    onLeftOut('trait', parsed.droppedTraits)
    return prepareIdentify(requestOf(parsed.identify, 'message'))
  }
}

/** An identify that was refused says nothing of the user: the next event may still create them. */
async function knownAfter(
  preparing: Promise<PreparedItem>,
  before: Promise<KnownUser | undefined> | undefined,
): Promise<KnownUser | undefined> {
  return (await preparing).outcome === 'refused' ? before : 'identified'
}

/** A message's `Idempotency-Key`. Some libraries send their own forms of ids: any text or number that tells messages apart. */
export function keyOfMessage(message: unknown): string | undefined {
  const messageId = memberIn(message, 'messageId')
  if (typeof messageId === 'number') return String(messageId)
  if (typeof messageId !== 'string' || messageId === '') return undefined
  return isIdempotencyKey(messageId) ? messageId : hash('sha256', messageId)
}

/** The event counts only for a user who exists. */
async function publishBoth(
  user: Promise<Answer | Refusal>,
  event: Promise<Answer | Refusal>,
): Promise<Answer | Refusal> {
  const [identified, tracked] = await Promise.all([user, event])
  return identified.outcome === 'refused' ? identified : tracked
}
