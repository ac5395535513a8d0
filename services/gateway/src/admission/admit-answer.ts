import type { AnswerGiven } from '@nextvisit/contracts'
import type { Refusal } from '../refusals/refusals.ts'
import type { CheckedAnswerBody } from './read-answer.ts'
import { type AdmissionParts, type Admitted, commonFields, type ItemToAdmit } from './admission.ts'
import { checkUser } from './check-user.ts'

/**
 * Applies the policy for answers: the user exists (404). An answer counts toward no limit and registers no name. Whether the user
 * ever had the offer is not checked (forms.md, Answers).
 */
export async function admitAnswer(
  { knownUsers }: Pick<AdmissionParts, 'knownUsers'>,
  item: ItemToAdmit<CheckedAnswerBody>,
): Promise<Admitted<AnswerGiven> | Refusal> {
  const user = await checkUser(knownUsers, item)
  if (user.outcome === 'refused') return user
  const { offerId, formId, revision, status, language, elements, answers } = item.body
  return {
    outcome: 'admitted',
    fact: {
      type: 'AnswerGiven',
      ...commonFields(item),
      unchecked: [...user.unchecked],
      offerId,
      formId,
      revision,
      status,
      ...(language !== undefined && { language }),
      elements,
      answers,
    },
    conclude: async () => undefined,
  }
}
