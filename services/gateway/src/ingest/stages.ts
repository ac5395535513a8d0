import type { CatalogProject } from '@nextvisit/catalog'
import type { EvaluatorReply, UserFact } from '@nextvisit/contracts'
import { type JsonObject, type Rejection, userIdOf } from '@nextvisit/domain'
import type { RecordSequence } from '@nextvisit/log'
import type { Admission, AdmittedFact, ItemToAdmit } from '../admission/admission.ts'
import type { KnownUsers } from '../admission/known-users.ts'
import { REFUSALS, refuse, refuseBody } from '../refusals/refusals.ts'
import type { Idempotency } from '../idempotency/idempotent-request.ts'
import type { Answer, CheckedRequest, Result } from '../http/route.ts'
import type { Replies } from './evaluator-replies.ts'
import type { Published, UserEventPublisher, UserPartition } from '../publishing/user-event-publisher.ts'
import type { IdempotencyLock, KeptAnswers } from '../idempotency/kept-answers.ts'
import type { CheckSignature, SignedBody } from './user-signature.ts'

/** A kind of record that callers send: identify, visit or track. */
export interface Kind<Body extends SignedBody = SignedBody, Fact extends UserFact = UserFact> {
  /** True if the record makes its user exist. */
  readonly identifies: boolean
  /** Parses the body by its rules. */
  readonly parse: (item: RequestedItem) => { readonly outcome: 'ok'; readonly value: Body } | Rejection
  /** Applies policy. `isIdentified`: true if an earlier item of the same batch identifies the user. */
  readonly admit: (item: ItemToAdmit<Body>, isIdentified?: Promise<boolean>) => Promise<Admission<Fact>>
  /** Returns true if a form may react to the fact, so that the answer waits for the evaluator's reply. */
  readonly mayReact: (fact: Fact, project: CatalogProject) => boolean
  readonly answer: (fact: Fact, reply: AwaitedReply, project: CatalogProject) => Answer
}

/** `none`: no form may react. `later`: no reply came within the budget, or none can come now. */
export type AwaitedReply = EvaluatorReply | 'none' | 'later'

/** Hides the types of a kind from the stages. Each item carries the body and the fact of its own kind. */
export function defineKind<Body extends SignedBody, Fact extends UserFact>(kind: Kind<Body, Fact>): Kind {
  return kind as unknown as Kind
}

/** A record that a request, or an item of its batch, asks for. */
export interface RequestedItem {
  readonly outcome: 'requested'
  readonly kind: Kind
  readonly request: CheckedRequest
  /** Id of the record. */
  readonly id: string
  readonly idempotency: Idempotency
  readonly body: JsonObject
}

interface ReadItem extends Omit<RequestedItem, 'outcome' | 'body'> {
  readonly outcome: 'read'
  readonly body: SignedBody
}

/** `lock` ends exactly once: by `admit`, `publish` or `giveBack`. */
interface LockedItem extends ItemToAdmit<SignedBody> {
  readonly outcome: 'locked'
  readonly kind: Kind
  readonly lock: IdempotencyLock
}

/** An item with reserved room and claimed names, until `publish` or `giveBack`. */
export interface AdmittedItem extends AdmittedFact<UserFact> {
  readonly item: LockedItem
}

/** The stages of an item, in order. Each may end it (decisions.md, Order of checks). */
export interface Stages {
  /** Checks the rules of the body, and the signature. */
  readonly read: (item: RequestedItem) => ReadItem | Result
  /** Locks the `Idempotency-Key`, and finds the partition of the record. */
  readonly lock: (item: ReadItem) => Promise<LockedItem | Result>
  /** Applies policy. */
  readonly admit: (item: LockedItem, isIdentified?: Promise<boolean>) => Promise<AdmittedItem | Result>
  /** Hands the record to the log before it returns; then awaits the ack and the reply, and keeps the answer. */
  readonly publish: (item: AdmittedItem, sequence?: RecordSequence) => Promise<Result>
  /** Releases everything that is held for an item that is not published. */
  readonly giveBack: (item: AdmittedItem) => Promise<void>
  /** Returns true if the user certainly does not exist. */
  readonly isMissing: (request: CheckedRequest, userName: string) => Promise<boolean>
}

export interface StagesParts {
  readonly checkSignature: CheckSignature
  readonly keptAnswers: KeptAnswers
  readonly knownUsers: Pick<KnownUsers, 'check'>
  readonly userEvents: Pick<UserEventPublisher, 'partitionOf' | 'publish'>
  readonly replies: Pick<Replies, 'expect'>
  /** Called for every record that is in the log or may be. */
  readonly onRecorded: (fact: UserFact) => void
}

/** Creates the stages that single requests and batches share. Of HTTP, they know only status codes. */
export function createStages(parts: StagesParts): Stages {
  const { checkSignature, keptAnswers, knownUsers, userEvents, replies, onRecorded } = parts

  return {
    read: (item) => {
      const { kind, request, id, idempotency } = item
      const parsed = kind.parse(item)
      if (parsed.outcome === 'rejected') return refuseBody(parsed)
      const body = parsed.value
      if (request.key.entry.kind === 'sdk' && !checkSignature(request.project, body)) return refuse(REFUSALS.signature)
      return { outcome: 'read', kind, request, id, idempotency, body }
    },

    lock: async ({ kind, request, id, idempotency, body }) => {
      if (idempotency === 'malformed') return refuse(REFUSALS.idempotencyKey)
      const lock = await keptAnswers.lock(idempotency)
      if (lock.outcome === 'running') return refuse(REFUSALS.stillRunning)
      if (lock.outcome === 'taken') return refuse(REFUSALS.keyOfAnother)
      // Byte for byte, since JSON.stringify is deterministic.
      if (lock.outcome === 'answered')
        return { outcome: 'answered', ...lock.answer, headers: { 'Idempotent-Replayed': 'true' } }
      const { organization, project } = request.project
      let user: UserPartition | undefined
      try {
        user = userEvents.partitionOf(userIdOf(organization, project, body.userName))
      } finally {
        if (!user) await endLock(lock, 'not-published')
      }
      if (!user) return refuse(REFUSALS.notRecorded)
      return { outcome: 'locked', kind, request, id, isKeyed: typeof idempotency === 'object', body, user, lock }
    },

    admit: async (item, isIdentified) => {
      let admission: Admission<UserFact> | undefined
      try {
        admission = await item.kind.admit(item, isIdentified)
      } finally {
        if (admission?.outcome !== 'admitted') await endLock(item.lock, 'not-published')
      }
      if (admission.outcome === 'refused') return admission
      return { outcome: 'admitted', item, fact: admission.fact, conclude: admission.conclude }
    },

    publish: async ({ item, fact, conclude }, sequence) => {
      const { kind, request, id, user, lock } = item
      const { deadlineAt, traceparent, project } = request
      let waiter: ReturnType<Replies['expect']>
      let published: Published = 'unknown'
      let answer: Answer | undefined
      try {
        const mayReact = kind.mayReact(fact, project)
        // Before the publish, since the reply can be faster than the ack.
        waiter = mayReact ? replies.expect(id) : undefined
        const replyTo = waiter?.channel
        const outcome = await userEvents.publish(fact, user, { deadlineAt, traceparent, replyTo, sequence })
        published = outcome.outcome
        if (published !== 'not-published') onRecorded(fact)
        await conclude(published)
        // An unknown outcome is not acknowledged either: the record may be missing in Kafka.
        if (outcome.outcome !== 'published') return refuse(REFUSALS.notRecorded)
        const position = { partition: user.partition, offset: outcome.offset }
        const reply = mayReact ? ((await waiter?.reply(position, deadlineAt)) ?? 'later') : 'none'
        answer = kind.answer(fact, reply, project)
        return answer
      } finally {
        waiter?.cancel()
        await endLock(lock, published, answer)
      }
    },

    giveBack: async ({ item, conclude }) => {
      try {
        await conclude('not-published')
      } finally {
        await endLock(item.lock, 'not-published')
      }
    },

    isMissing: async ({ project, admissionDeadlineAt }, userName) => {
      const { organization, project: id } = project
      const user = userEvents.partitionOf(userIdOf(organization, id, userName))
      if (!user) return false
      return (await knownUsers.check({ organization, project: id, ...user }, admissionDeadlineAt)) === 'missing'
    },
  }
}

/** Ends a lock. It must end before the answer goes out, because the caller may repeat the request at once. */
function endLock(lock: IdempotencyLock, published: Published, answer?: Answer): Promise<void> {
  if (answer) return lock.keep(answer)
  return published === 'not-published' && !lock.isRetry ? lock.abandon() : lock.release()
}
