import type { FormsReadModel, ProjectConfig, Trigger } from '@nextvisit/contracts'
import { countedByTrigger } from '@nextvisit/domain'
import type { Mask } from '../session/mask.ts'
import type { UserFormsAnswer } from './api.ts'
import { formLinesOf, type FormLinesParts } from './form-lines.ts'

export interface UserFormsParts extends Pick<FormLinesParts, 'config' | 'soFar' | 'mask' | 'nowMs'> {
  /** undefined: nobody has identified the user. */
  readonly model: FormsReadModel | undefined
}

/** Why forms did, or did not, reach a user, and the queue. */
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

export interface CountedTriggersParts {
  readonly model: Pick<FormsReadModel, 'forms'>
  readonly config: Pick<ProjectConfig, 'forms'> | undefined
  readonly mask: Pick<Mask, 'isMasked'>
}

/** What forms that were never decided on count: how far the user is with it is what they wait for. */
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
 * A count by properties tells how often they had such values, which is masked. Where `where` only looks at the event itself,
 * the events are counted whatever their properties: that is not how far the user is.
 */
function isTold(trigger: Parameters<typeof countedByTrigger>[0], isMasked: boolean): boolean {
  return trigger.where === undefined || (!isMasked && countedByTrigger(trigger).where !== undefined)
}
