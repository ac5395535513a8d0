import type { EvaluatorReply, UserFact } from '@nextvisit/contracts'
import { type Rejection, userIdOf } from '@nextvisit/domain'
import type { Admission, Admitted } from '../admission/admission.ts'
import { type Refusal, REFUSALS, refuse, refuseBody } from '../api/refusals.ts'
import type { CheckedRequest, RouteAnswer } from '../http/route.ts'
import type { Published, RecordLog, RecordPlace } from '../publishing/record-log.ts'
import type { Replies, ReplyWaiter } from '../publishing/replies.ts'
import type { KeptAnswers } from './kept-answers.ts'
import type { CheckSignature, SignedBody } from './user-signature.ts'

/** What one kind of request adds to {@link PrepareRecord}. */
export interface Recording<Body extends SignedBody, Fact extends UserFact> {
  /** The rules of the body. */
  readonly parse: (request: CheckedRequest) => { readonly outcome: 'ok'; readonly value: Body } | Rejection
  /** Whether a form may react to the record, so that the answer waits for the evaluator's reply. */
  readonly mayReact: (request: CheckedRequest, body: Body) => boolean
  /** Policy. */
  readonly admit: (request: CheckedRequest, body: Body, place: RecordPlace) => Promise<Admission<Fact>>
  readonly answer: (request: CheckedRequest, recorded: Recorded<Fact>) => RouteAnswer
}

/** A record that is in the log. */
export interface Recorded<Fact> {
  readonly fact: Fact
  readonly place: RecordPlace
  /** `none`: no form may react. `later`: the reply did not come within the budget, or can't come at the moment. */
  readonly reply: EvaluatorReply | 'none' | 'later'
}

export interface PrepareRecordParts {
  readonly checkSignature: CheckSignature
  readonly keptAnswers: KeptAnswers
  readonly log: Pick<RecordLog, 'placeOf' | 'publish'>
  readonly replies: Pick<Replies, 'expect'>
  /** Called for every record that is in the log, or may be. */
  readonly onRecorded: (fact: UserFact) => void
}

/** A request that policy admitted: what it needs of limits is reserved for it, and its `Idempotency-Key` is locked. */
export interface PreparedRecord {
  readonly outcome: 'prepared'
  /**
   * Hands the record to the log before it returns, so records that are published one after the other stand in the log in
   * this order. Resolves to the answer. To be called once, whatever happens to other requests.
   */
  readonly publish: () => Promise<RouteAnswer | Refusal>
  /** In place of `publish`: gives back what is reserved. */
  readonly abandon: () => Promise<void>
}

export type PrepareRecord = ReturnType<typeof createPrepareRecord>

/**
 * Makes a record of a request, and an answer: the second half of decisions.md, *Order of checks*, from the rules of the
 * body on. It knows nothing of HTTP but status codes.
 */
export function createPrepareRecord({ checkSignature, keptAnswers, log, replies, onRecorded }: PrepareRecordParts) {
  return async <Body extends SignedBody, Fact extends UserFact>(
    recording: Recording<Body, Fact>,
    request: CheckedRequest,
  ): Promise<PreparedRecord | RouteAnswer | Refusal> => {
    const { requestId, idempotent, deadlineAt, traceparent, sequence } = request
    const { organization, project } = request.project

    // The rules of the body.
    const parsed = recording.parse(request)
    if (parsed.outcome === 'rejected') return refuseBody(parsed)
    const body = parsed.value

    // Whoever holds a publishable key may have to prove for which user.
    if (request.key.entry.kind === 'sdk' && !checkSignature(request.project, body)) return refuse(REFUSALS.signature)

    // Idempotency-Key.
    if (idempotent === 'malformed') return refuse(REFUSALS.idempotencyKey)
    const lock = await keptAnswers.begin(idempotent)
    if (lock.outcome === 'running') return refuse(REFUSALS.stillRunning)
    if (lock.outcome === 'taken') return refuse(REFUSALS.keyOfAnother)
    // Byte for byte: what JSON.stringify once wrote, it writes again after JSON.parse.
    if (lock.outcome === 'answered')
      return { outcome: 'answered', ...lock.answer, headers: { 'Idempotent-Replayed': 'true' } }

    let waiter: ReplyWaiter | undefined
    const end = async (published: Published, answer?: RouteAnswer) => {
      waiter?.cancel()
      // Before the answer goes out: a caller who has it may repeat the request at once.
      if (answer) await lock.keep(answer)
      else if (published === 'not-published' && !lock.isRetry) await lock.abandon()
      else await lock.release()
    }
    /** What was not admitted left nothing behind. */
    const refused = async (refusal: Refusal) => {
      await end('not-published')
      return refusal
    }

    async function publish({ fact, settle }: Admitted<Fact>, place: RecordPlace, mayReact: boolean) {
      let published: Published = 'unknown'
      let answer: RouteAnswer | undefined
      try {
        const outcome = await log.publish(fact, place, { deadlineAt, traceparent, replyTo: waiter?.channel, sequence })
        published = outcome.outcome
        if (published !== 'not-published') onRecorded(fact)
        await settle(published)
        // Also where the outcome is unknown: never an acknowledgement for a record that may not be in Kafka.
        if (outcome.outcome !== 'published') return refuse(REFUSALS.notRecorded)

        const { partition } = place
        const reply = mayReact
          ? ((await waiter?.reply({ partition, offset: outcome.offset }, deadlineAt)) ?? 'later')
          : 'none'
        answer = recording.answer(request, { fact, place, reply })
        return answer
      } finally {
        await end(published, answer)
      }
    }

    try {
      const place = log.placeOf(userIdOf(organization, project, body.userName))
      if (!place) return await refused(refuse(REFUSALS.notRecorded))
      const mayReact = recording.mayReact(request, body)
      // Before the publish: the reply can be faster than the ack.
      waiter = mayReact ? replies.expect(requestId) : undefined

      // Policy.
      const admission = await recording.admit(request, body, place)
      if (admission.outcome === 'refused') return await refused(admission)
      return {
        outcome: 'prepared',
        publish: () => publish(admission, place, mayReact),
        abandon: async () => {
          await admission.settle('not-published')
          await end('not-published')
        },
      }
    } catch (error) {
      await end('not-published')
      throw error
    }
  }
}
