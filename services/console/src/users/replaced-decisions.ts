import {
  type FormDecision,
  type FormFact,
  isRequestFact,
  type ProjectConfig,
  type UserFact,
} from '@nextvisit/contracts'
import { compileForms } from '@nextvisit/domain'

interface ReplacedParts {
  readonly fact: UserFact
  readonly decisions: readonly FormDecision[]
  readonly formFacts: readonly FormFact[]
  readonly config: ProjectConfig | undefined
}

/**
 * Returns later decisions on forms that this record may have triggered. Only the last decision on each form is kept, so a
 * decision for this record is lost, unless it queued the form: that is in the log.
 */
export function replacedDecisions({ fact, decisions, formFacts, config }: ReplacedParts): readonly FormDecision[] {
  const forms = config ? formsSetOffBy(fact, config) : []
  const queuedByIt = (formId: string) =>
    formFacts.some((one) => one.type === 'FormQueued' && one.causeId === fact.id && one.formId === formId)
  return decisions.filter(
    ({ formId, at, requestId }) =>
      requestId !== fact.id && at >= fact.received && forms.some(({ id }) => id === formId) && !queuedByIt(formId),
  )
}

function formsSetOffBy(fact: UserFact, config: ProjectConfig): readonly { readonly id: string }[] {
  if (!isRequestFact(fact)) return []
  if (fact.type === 'EventTracked') return fact.evaluateTriggers ? compileForms(config).onEvent(fact.slug) : []
  return fact.source === 'sdk' ? compileForms(config).onVisit : []
}
