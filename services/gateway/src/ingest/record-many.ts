import { randomUUIDv7 } from 'node:crypto'
import type { JsonObject } from '@nextvisit/domain'
import type { RecordSequence } from '@nextvisit/log'
import type { Logger } from '@nextvisit/service-kit'
import { type Refusal, REFUSALS, refuse } from '../api/refusals.ts'
import { type IdempotentContent, idempotentRequestOf } from '../http/idempotent-request.ts'
import { costOfLength, inTurns } from '../http/in-turns.ts'
import { answer, type CheckedRequest, type RefusedItem } from '../http/route.ts'
import { type ItemToPlan, planBatch, type Step, type UserCreation } from './plan-batch.ts'
import { admitItem } from './record-one.ts'
import { type AdmittedItem, type Ended, hasEnded, type Kind, type Stages } from './stages.ts'

type Stage = AdmittedItem | Ended

/** The stage of a step, given the earlier steps of its user. */
interface Decision {
  readonly step: Step
  readonly stage: Stage
  /** True if this step, or an earlier one of the user, must be sent again: later steps may not overtake it. */
  readonly isHeld: boolean
}

/** The steps of a user so far. */
interface UserSoFar {
  readonly last?: Promise<Decision>
  /** Resolves to true if one of them identifies the user. */
  readonly isIdentified?: Promise<boolean> | undefined
}

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
  /** Starts all steps in their order. An event waits for earlier identifies of its user, and for no other item. */
  async function decideAll(steps: readonly Step[]): Promise<readonly Decision[]> {
    const users: UserSoFar[] = []
    const deciding: Promise<Decision>[] = []
    const start = (step: Step): void => {
      const { last, isIdentified } = users[step.user] ?? {}
      const creating = step.createdBy === undefined ? undefined : deciding[step.createdBy]
      const admitting = admitStep(step, isIdentified, creating)
      const decision = decide(step, admitting, last)
      const identifies = step.type === 'creation' || step.item.kind.identifies
      users[step.user] = {
        last: decision,
        isIdentified: identifies ? isIdentifiedAfter(admitting, isIdentified) : isIdentified,
      }
      deciding.push(decision)
    }
    await inTurns(steps, start, costOf)
    return Promise.all(deciding)
  }

  async function admitStep(
    step: Step,
    isIdentified: Promise<boolean> | undefined,
    creating: Promise<Decision> | undefined,
  ): Promise<Stage> {
    try {
      if (step.type === 'creation') {
        const { request, userName, ask } = step.creation
        const mayExist = (await isIdentified) || !(await stages.isMissing(request, userName))
        return mayExist ? NOT_CREATED : await admitItem(stages, ask())
      }
      const created = creating && (await creating).stage
      return created?.outcome === 'refused' ? created : await admitItem(stages, step.item, isIdentified)
    } catch (err) {
      return broken(step, err)
    }
  }

  /** Refuses steps that would overtake an earlier one. Kept answers stay, since their records are in the log. */
  async function decide(step: Step, admitting: Promise<Stage>, last?: Promise<Decision>): Promise<Decision> {
    const stage = await admitting
    const isHeld = last !== undefined && (await last).isHeld
    if (!isHeld || stage.outcome === 'answered') return { step, stage, isHeld: isHeld || mustBeSentAgain(stage) }
    if (stage.outcome === 'admitted') await stages.giveBack(stage).catch((err: unknown) => broken(step, err))
    return { step, stage: refuse(REFUSALS.notRecorded), isHeld }
  }

  /** Publishes in order. The records of a user are a sequence: after a failed one, none is sent. */
  async function publishAll(decisions: readonly Decision[]): Promise<readonly Ended[]> {
    const sequences: RecordSequence[] = []
    const publish = async ({ step, stage }: Decision): Promise<Ended> => {
      if (hasEnded(stage)) return stage
      const sequence = (sequences[step.user] ??= { isBroken: false })
      try {
        return await stages.publish(stage, sequence)
      } catch (err) {
        return broken(step, err)
      }
    }
    const publishing = await inTurns(decisions, publish, ({ step }) => costOf(step))
    return Promise.all(publishing)
  }

  function broken(step: Step, err: unknown): Refusal {
    const { request } = step.type === 'item' ? step.item : step.creation
    const requestId = step.type === 'item' ? step.item.id : request.requestId
    logger.error({ err, requestId, traceparent: request.traceparent }, 'An item of a batch failed')
    return refuse(REFUSALS.broken)
  }

  return async (items: readonly (ItemToPlan | Ended)[]): Promise<readonly Ended[]> => {
    const { steps, results } = planBatch(items)
    const ended = await publishAll(await decideAll(steps))
    return results.map(({ from, createdBy }) => {
      const creation = createdBy === undefined ? undefined : ended[createdBy]
      if (creation?.outcome === 'refused') return creation
      return (typeof from === 'number' ? ended[from] : from) ?? refuse(REFUSALS.broken)
    })
  }
}

async function isIdentifiedAfter(admitting: Promise<Stage>, before?: Promise<boolean>): Promise<boolean> {
  const stage = await admitting
  return (stage.outcome !== 'refused' && stage !== NOT_CREATED) || (await before) === true
}

/** Admitting or publishing an item costs about half as much as parsing it. */
function costOf(step: Step): number {
  return costOfLength(step.type === 'item' ? step.item.length : 0) / 2
}

function mustBeSentAgain(stage: Stage): boolean {
  return stage.outcome === 'refused' && isRetryable(stage)
}

/** Returns true for a result after which a caller sends the item again. */
export function isRetryable({ status }: Ended): boolean {
  return RETRYABLE.includes(status)
}

/** Returns an item of a batch with its own id and `Idempotency-Key`. */
export function askItem(
  request: CheckedRequest,
  kind: Kind,
  body: JsonObject,
  content: IdempotentContent & { readonly bytes: string },
  creation?: UserCreation,
): ItemToPlan {
  const { project, key } = request
  const idempotency = idempotentRequestOf({ ...content, project, apiKey: key.entry })
  const id = typeof idempotency === 'object' ? idempotency.recordId : randomUUIDv7()
  return { outcome: 'asked', kind, request, id, idempotency, body, length: content.bytes.length, creation }
}

/** Returns the items that were refused, as the caller sent them. */
export function refusedItemsOf(results: readonly Ended[], items: readonly unknown[]): readonly RefusedItem[] {
  return results.flatMap((result, item) =>
    result.outcome === 'refused' ? [{ refusal: result, item, body: items[item] }] : [],
  )
}
