import type { CatalogProject } from '@nextvisit/catalog'
import { type EvaluatorReply, hasPersonalMembers, type UserFact } from '@nextvisit/contracts'
import { type Rejection, userIdOf } from '@nextvisit/domain'
import type { RecordSequence } from '@nextvisit/log'
import type { DataKey } from '@nextvisit/sealing'
import type { Admitted, ItemToAdmit } from '../admission/admission.ts'
import type { KnownUsers } from '../admission/known-users.ts'
import { type Answer, type CheckedRequest, isResult, type Result } from '../http/route.ts'
import { type Refusal, REFUSALS, refuse, refuseBody } from '../refusals/refusals.ts'
import type { ReplyWaiter } from './reply-waiter.ts'
import type { Published, UserEventPublisher, UserPartition } from '../publishing/user-event-publisher.ts'
import type { IdempotencyLock, KeptAnswers, LockResult } from '../idempotency/kept-answers.ts'
import type { createCheckSuppression } from './check-suppression.ts'
import type { createCheckSignature, SignedBody } from './user-signature.ts'

/** A kind of record that callers send: identify, visit or track. */
export interface RecordKind<Body extends SignedBody = SignedBody, Fact extends UserFact = UserFact> {
  /** True if the record makes its user exist. */
  readonly identifies: boolean
  /** Parses the body by its rules. */
  readonly parse: (request: CheckedRequest) => { readonly outcome: 'ok'; readonly value: Body } | Rejection
  /** Applies policy. `isIdentified`: true if an earlier item of the same batch identifies the user. */
  readonly admit: (item: ItemToAdmit<Body>, isIdentified?: Promise<boolean>) => Promise<Admitted<Fact> | Refusal>
  /** Returns true if a form may react to the fact, so that the answer waits for the evaluator's reply. */
  readonly mayReact: (fact: Fact, project: CatalogProject) => boolean
  readonly answer: (fact: Fact, reply: AwaitedReply, project: CatalogProject) => Answer
}

/** `none`: no form may react. `later`: no reply came within the budget, or none can come now. */
export type AwaitedReply = EvaluatorReply | 'none' | 'later'

/** Hides the types of a kind from the stages. Each item carries the body and the fact of its own kind. */
export function defineKind<Body extends SignedBody, Fact extends UserFact>(kind: RecordKind<Body, Fact>): RecordKind {
  return kind as unknown as RecordKind
}

/** A request with reserved room, claimed names and a locked key, until `publish` or `giveBack`. */
export interface AdmittedItem extends Admitted<UserFact> {
  readonly kind: RecordKind
  readonly request: CheckedRequest
  readonly user: UserPartition
  /** Seals the personal members of the fact. undefined: it has none. */
  readonly key: DataKey | undefined
  readonly lock: IdempotencyLock
}

export interface StagesParts {
  readonly checkSignature: ReturnType<typeof createCheckSignature>
  readonly checkSuppression: ReturnType<typeof createCheckSuppression>
  readonly keptAnswers: KeptAnswers
  readonly knownUsers: Pick<KnownUsers, 'check' | 'keyOf'>
  readonly userEvents: Pick<UserEventPublisher, 'partitionOf' | 'publish'>
  readonly replies: Pick<ReplyWaiter, 'expect'>
  /** Called for every record that is in the log or may be. */
  readonly onRecorded: (fact: UserFact) => void
}

export type Stages = ReturnType<typeof createStages>

/**
 * Creates the stages that single requests and batches share: read, lock, admit, publish (decisions.md, Order of checks).
 * Of HTTP, they know only status codes.
 */
export function createStages(parts: StagesParts) {
  const { checkSignature, checkSuppression, keptAnswers, knownUsers, userEvents, replies, onRecorded } = parts

  /** Returns the partition of a user; undefined while publishing is impossible. */
  function partitionOf({ organization, project }: CatalogProject, userName: string): UserPartition | undefined {
    return userEvents.partitionOf(userIdOf(organization, project, userName))
  }

  /** Reads the body, locks the `Idempotency-Key`, applies policy and gets the data key. A result ends the request. */
  async function admit(
    kind: RecordKind,
    request: CheckedRequest,
    isIdentified?: Promise<boolean>,
  ): Promise<AdmittedItem | Result> {
    const { project, key, idempotency } = request
    const read = kind.parse(request)
    if (read.outcome === 'rejected') return refuseBody(read)
    const body = read.value
    const signature = key.entry.kind === 'sdk' ? checkSignature(project, body) : 'valid'
    if (signature === 'invalid') return refuse(REFUSALS.signature)
    if (signature === 'unverifiable') return refuse(REFUSALS.signatureUnverifiable)
    const suppression = checkSuppression(project, body.userName)
    if (suppression) return refuse(suppression)

    if (idempotency === 'malformed') return refuse(REFUSALS.idempotencyKey)
    const lock = await keptAnswers.lock(idempotency)
    if (lock.outcome !== 'locked') return resultWithoutLock(lock)

    let admitted: AdmittedItem | undefined
    try {
      const user = partitionOf(project, body.userName)
      if (!user) return refuse(REFUSALS.notRecorded)
      const admission = await kind.admit({ request, body, user }, isIdentified)
      if (admission.outcome === 'refused') return admission
      const withKey = await addKey(admission, user, request.deadlineAt)
      if (withKey.outcome === 'refused') return withKey
      admitted = { ...withKey, kind, request, user, lock }
      return admitted
    } finally {
      if (!admitted) await endLock(lock, 'not-published')
    }
  }

  /**
   * Adds the data key that the fact needs. A key that could not be published refuses the record as if the record itself could not
   * be, and gives back what it holds.
   */
  async function addKey(
    admission: Admitted<UserFact>,
    user: UserPartition,
    deadlineAt: number,
  ): Promise<(Admitted<UserFact> & Pick<AdmittedItem, 'key'>) | Refusal> {
    let added: (Admitted<UserFact> & Pick<AdmittedItem, 'key'>) | undefined
    try {
      if (!hasPersonalMembers(admission.fact)) added = { ...admission, key: undefined }
      else {
        const key = await knownUsers.keyOf(user, deadlineAt)
        if (key) added = { ...admission, key }
      }
      return added ?? refuse(REFUSALS.notRecorded)
    } finally {
      if (!added) await admission.conclude('not-published')
    }
  }

  /** Hands the record to the log before it returns; then awaits the ack and the reply, and keeps the answer. */
  async function publish(item: AdmittedItem, sequence?: RecordSequence): Promise<Result> {
    const { kind, request, user, key, lock, fact, conclude } = item
    const { deadlineAt, traceparent, project } = request
    let waiter: ReturnType<ReplyWaiter['expect']>
    let published: Published | undefined
    let answer: Answer | undefined
    try {
      const mayReact = kind.mayReact(fact, project)
      // Before the publish, since the reply can be faster than the ack.
      waiter = mayReact ? replies.expect(fact.id) : undefined
      published = 'unknown'
      const outcome = await userEvents.publish(fact, user, {
        deadlineAt,
        traceparent,
        key,
        replyTo: waiter?.channel,
        sequence,
      })
      published = outcome.outcome
      if (published !== 'not-published') onRecorded(fact)
      await conclude(published)
      // An unknown outcome is not acknowledged either: the record may be missing in Kafka.
      if (outcome.outcome !== 'published') return refuse(REFUSALS.notRecorded)
      const position = { partition: user.partition, offset: outcome.offset }
      const reply = mayReact ? ((await waiter?.reply(position, deadlineAt, traceparent)) ?? 'later') : 'none'
      answer = kind.answer(fact, reply, project)
      return answer
    } finally {
      waiter?.cancel()
      if (published) await endLock(lock, published, answer)
      else await giveBack(item)
    }
  }

  return {
    admit,
    publish,
    /** Runs all stages of a request. */
    record: async (kind: RecordKind, request: CheckedRequest): Promise<Result> => {
      const admitted = await admit(kind, request)
      return isResult(admitted) ? admitted : publish(admitted)
    },
    /** Returns true if the user is known not to exist. */
    isMissing: async (
      { project: place, admissionDeadlineAt, traceparent }: CheckedRequest,
      userName: string,
    ): Promise<boolean> => {
      const user = partitionOf(place, userName)
      if (!user) return false
      const { organization, project } = place
      const look = { organization, project, ...user }
      return (await knownUsers.check(look, admissionDeadlineAt, traceparent)) === 'missing'
    },
  }
}

/** Releases everything that is held for an item that is not published. */
export async function giveBack({ conclude, lock }: AdmittedItem): Promise<void> {
  try {
    await conclude('not-published')
  } finally {
    await endLock(lock, 'not-published')
  }
}

/** Returns the result of a request whose `Idempotency-Key` has another request, or a kept answer. */
export function resultWithoutLock(lock: Exclude<LockResult, IdempotencyLock>): Result {
  if (lock.outcome === 'running') return refuse(REFUSALS.stillRunning)
  if (lock.outcome === 'taken') return refuse(REFUSALS.keyOfAnother)
  // Byte for byte, since JSON.stringify is deterministic.
  return { outcome: 'answered', ...lock.answer, headers: { 'Idempotent-Replayed': 'true' } }
}

/** Ends a lock. It must end before the answer goes out, because the caller may repeat the request at once. */
export function endLock(lock: IdempotencyLock, published: Published, answer?: Answer): Promise<void> {
  if (answer) return lock.keep(answer)
  return published === 'not-published' && !lock.isRetry ? lock.abandon() : lock.release()
}
