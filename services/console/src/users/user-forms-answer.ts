import type { FormsReadModel, ProjectConfig, Trigger } from '@nextvisit/contracts'
import { countedByTrigger } from '@nextvisit/domain'
import type { Mask } from './mask.ts'
import type { UserFormsAnswer } from './api.ts'
import { formLinesOf, type FormLinesParts } from './form-lines.ts'

interface UserFormsParts extends Pick<FormLinesParts, 'config' | 'soFar' | 'mask' | 'nowMs'> {
  /** undefined: the user was never identified. */
  readonly model: FormsReadModel | undefined
}

/** Explains why forms did or did not reach a user, and lists the queue. */
export function userFormsAnswerOf({ model = { forms: [], queue: [] }, ...parts }: UserFormsParts): UserFormsAnswer {
  return {
    forms: formLinesOf({ ...model, ...parts }),
    queue: model.queue.map(({ queuedId, formId, state, queuedAt, showFrom, expiresAt, deliveredAt }) => ({
      queuedId,
      formId,
      state,
      queuedAt,
      showFrom,
      expiresAt,
      deliveredAt,
    })),
  }
}

interface CountedTriggersParts {
  readonly model: Pick<FormsReadModel, 'forms'>
  readonly config: Pick<ProjectConfig, 'forms'> | undefined
  readonly mask: Pick<Mask, 'isMasked'>
}

/** Returns the counting triggers of forms without a decision: their counts tell how far the user is. */
export function countedTriggers({
  model: { forms: decisions },
  config,
  mask: { isMasked },
}: CountedTriggersParts): readonly Trigger[] {
  const decided = new Set(decisions.map(({ formId }) => formId))
  return (config?.forms ?? [])
    .filter(({ id }) => !decided.has(id))
    .flatMap(({ triggers }) => triggers.filter((trigger) => 'event' in trigger && isTold(trigger, isMasked)))
}

/**
 * A count by properties reveals how often events had such values, so it is masked. If `where` refers only to the last event,
 * the count ignores properties and does not tell how far the user is.
 */
function isTold(trigger: Parameters<typeof countedByTrigger>[0], isMasked: boolean): boolean {
  return trigger.where === undefined || (!isMasked && countedByTrigger(trigger).where !== undefined)
}
