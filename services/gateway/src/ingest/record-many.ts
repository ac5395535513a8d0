import { randomUUIDv7 } from 'node:crypto'
import { type JsonObject, memberOf } from '@nextvisit/domain'
import type { RecordSequence } from '@nextvisit/log'
import { type Logger, traceFields } from '@nextvisit/service-kit'
import { type Refusal, REFUSALS, refuse } from '../refusals/refusals.ts'
import { type IdempotentContent, idempotentRequestOf } from '../idempotency/idempotent-request.ts'
import { costOfLength, yieldBetween } from '../http/turns/yield-between.ts'
import { answer, type CheckedRequest, type RefusedItem, type Result, isResult } from '../http/route.ts'
import { planBatch, type RequestedItem, type Step } from './plan-batch.ts'
import { type AdmittedItem, giveBack, type RecordKind, type Stages } from './stages.ts'

type Admission = AdmittedItem | Result
/** A step with its admission, or with its result if it ended before. */
type AdmittedStep = Step & { readonly admission: Admission }

/** Statuses of items that a caller sends again unchanged. */
const RETRYABLE: readonly number[] = [409, 500, 503]
/** The result of creating a user who exists, or may exist. */
const NOT_CREATED = answer(200, {})

export type RecordMany = ReturnType<typeof createRecordMany>

/**
 * Records the items of one request; none fails another. All items are admitted at once, so that their questions share
 * calls. Then all are published in their order. Resolves to the results of the items; never rejects.
 */
export function createRecordMany(stages: Stages, logger: Logger) {
  /**
   * Starts all admissions in their order, and awaits them together. Only an event waits: for the identifies of its user
   * before it. Items of a user lock their keys concurrently.
   */
  async function admitAll(steps: readonly Step[]): Promise<readonly AdmittedStep[]> {
    const admitting: Promise<AdmittedStep>[] = []
    /** By user; resolves to true if an earlier step identifies the user. */
    const identified: (Promise<boolean> | undefined)[] = []
    const start = (step: Step): void => {
      const { user, createdBy } = step
      const before = identified[user]
      const creating = createdBy === undefined ? undefined : admitting[createdBy]
      const admitted = admitStep(step, before, creating).then((admission) => ({ ...step, admission }))
      admitting.push(admitted)
      const identifies = step.type === 'creation' || step.item.kind.identifies
      if (identifies) identified[user] = isIdentifiedAfter(admitted, before)
    }
    await yieldBetween(steps, start, costOf)
    return Promise.all(admitting)
  }

  async function admitStep(
    step: Step,
    isIdentified: Promise<boolean> | undefined,
    creating: Promise<AdmittedStep> | undefined,
  ): Promise<Admission> {
    try {
      const { kind, request, createUser } = step.item
      if (step.type === 'creation') {
        const userName = String(memberOf(request.body, 'userName'))
        const mayExist = !createUser || (await isIdentified) || !(await stages.isMissing(request, userName))
        if (mayExist) return NOT_CREATED
        const creation = createUser()
        return await stages.admit(creation.kind, creation.request)
      }
      const creation = (await creating)?.admission
      if (creation?.outcome === 'refused') return creation
      const admission = await stages.admit(kind, request, isIdentified)
      // The look-up of the creation gave no verdict in time, and this one did: the next attempt creates the user.
      const isMissing = admission.outcome === 'refused' && admission.reason === REFUSALS.user.reason
      return createUser && isMissing ? refuse(REFUSALS.notRecorded) : admission
    } catch (err) {
      return broken(step, err)
    }
  }

  /**
   * Refuses steps that would overtake an earlier one of their user which must be sent again. Kept answers stay, since
   * their records are in the log.
   */
  async function refuseOvertaking(admitted: readonly AdmittedStep[]): Promise<readonly AdmittedStep[]> {
    const blockedUsers = new Set<number>()
    const givingBack: Promise<unknown>[] = []
    const checked = admitted.map((step): AdmittedStep => {
      const { user, admission } = step
      const isBlocked = blockedUsers.has(user)
      if (admission.outcome === 'refused' && isRetryable(admission)) blockedUsers.add(user)
      if (!isBlocked || admission.outcome === 'answered') return step
      if (admission.outcome === 'admitted')
        givingBack.push(giveBack(admission).catch((err: unknown) => broken(step, err)))
      return { ...step, admission: refuse(REFUSALS.notRecorded) }
    })
    await Promise.all(givingBack)
    return checked
  }

  /** Publishes in order. The records of a user are a sequence: after a failed one, none is sent. */
  async function publishAll(admitted: readonly AdmittedStep[]): Promise<readonly Result[]> {
    const sequences: RecordSequence[] = []
    const publish = async (step: AdmittedStep): Promise<Result> => {
      const { admission } = step
      if (isResult(admission)) return admission
      const sequence = (sequences[step.user] ??= { isBroken: false })
      try {
        return await stages.publish(admission, sequence)
      } catch (err) {
        return broken(step, err)
      }
    }
    return Promise.all(await yieldBetween(admitted, publish, costOf))
  }

  function broken({ item: { request } }: Step, err: unknown): Refusal {
    const { requestId, traceparent } = request
    logger.error({ err, requestId, traceparent, ...traceFields(traceparent) }, 'An item of a batch failed')
    return refuse(REFUSALS.broken)
  }

  return async (items: readonly (RequestedItem | Result)[]): Promise<readonly Result[]> => {
    const { steps, results } = planBatch(items)
    const published = await publishAll(await refuseOvertaking(await admitAll(steps)))
    return results.map(({ from, createdBy }) => {
      const creation = createdBy === undefined ? undefined : published[createdBy]
      if (creation?.outcome === 'refused') return creation
      return (typeof from === 'number' ? published[from] : from) ?? refuse(REFUSALS.broken)
    })
  }
}

async function isIdentifiedAfter(admitted: Promise<AdmittedStep>, before?: Promise<boolean>): Promise<boolean> {
  const { admission } = await admitted
  return (admission.outcome !== 'refused' && admission !== NOT_CREATED) || (await before) === true
}

/** Admitting or publishing an item costs about half as much as parsing it. */
function costOf({ type, item }: Step): number {
  return costOfLength(type === 'item' ? item.length : 0) / 2
}

/** Returns true for a result after which a caller sends the item again. */
export function isRetryable({ status }: Result): boolean {
  return RETRYABLE.includes(status)
}

/** Returns an item of this request: a request with its own id, body and `Idempotency-Key`. */
export function itemOf(
  request: CheckedRequest,
  kind: RecordKind,
  body: JsonObject,
  content: IdempotentContent & { readonly bytes: string },
  createUser?: () => RequestedItem,
): RequestedItem {
  const idempotency = idempotentRequestOf(request.key, content)
  const requestId = typeof idempotency === 'object' ? idempotency.recordId : randomUUIDv7()
  const itemRequest = { ...request, requestId, idempotency, body }
  return { kind, request: itemRequest, length: content.bytes.length, createUser }
}

/** Returns the items that were refused, as the caller sent them. */
export function refusedItemsOf(results: readonly Result[], items: readonly unknown[]): readonly RefusedItem[] {
  return results.flatMap((result, item) =>
    result.outcome === 'refused' ? [{ refusal: result, item, body: items[item] }] : [],
  )
}
