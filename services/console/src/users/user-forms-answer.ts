import type { FormsReadModel, ProjectConfig } from '@nextvisit/contracts'
import type { UserFormsAnswer } from '../api/users.ts'
import { formLinesOf } from './form-lines.ts'
import type { Mask } from './mask.ts'

export interface UserFormsParts {
  readonly forms: FormsReadModel | undefined
  readonly config: ProjectConfig | undefined
  readonly mask: Mask
}

/** Why forms did, or did not, reach a user, and the queue. */
export function userFormsAnswerOf({ forms, config, mask }: UserFormsParts): UserFormsAnswer {
  return {
    forms: formLinesOf(forms?.forms ?? [], config, mask),
    queue: (forms?.queue ?? []).map(({ queuedId, formId, state, queuedAt, showFrom, expiresAt, deliveredAt }) => ({
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
