import type { FormsReadModel, ProjectConfig, Trigger } from '@nextvisit/contracts'
import type { UserFormsAnswer } from '../api/users.ts'
import { type FormLinesParts, formLinesOf } from './form-lines.ts'

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

/** What forms that were never decided on count: how far the user is with it is what they wait for. */
export function countedTriggers(
  { forms: decisions }: FormsReadModel,
  config: Pick<ProjectConfig, 'forms'> | undefined,
): readonly Trigger[] {
  const decided = new Set(decisions.map(({ formId }) => formId))
  return (config?.forms ?? [])
    .filter(({ id }) => !decided.has(id))
    .flatMap(({ triggers }) => triggers.filter((trigger) => 'event' in trigger))
}
