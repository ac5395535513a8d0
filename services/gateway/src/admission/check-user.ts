import { type Refusal, REFUSALS, refuse } from '../refusals/refusals.ts'
import type { ItemToAdmit, Passed } from './admission.ts'
import type { KnownUsers } from './known-users.ts'

/** The user exists, or could not be looked up. */
export interface CheckedUser extends Passed {
  /** The user projector did not answer in time. */
  readonly isServiceSilent: boolean
}

/** Checks that the user of a request exists (404). `isIdentified`: true if an earlier item of the same batch identifies the user. */
export async function checkUser(
  knownUsers: KnownUsers,
  { request, user }: ItemToAdmit<unknown>,
  isIdentified?: Promise<boolean>,
): Promise<CheckedUser | Refusal> {
  const { organization, project } = request.project
  if (await isIdentified) return { outcome: 'passed', unchecked: [], isServiceSilent: false }
  const { admissionDeadlineAt, traceparent } = request
  const existence = await knownUsers.check({ organization, project, ...user }, admissionDeadlineAt, traceparent)
  if (existence === 'missing') return refuse(REFUSALS.user)
  if (existence === 'crowded') return refuse(REFUSALS.busy)
  return {
    outcome: 'passed',
    unchecked: existence === 'exists' ? [] : ['user'],
    isServiceSilent: existence === 'unchecked',
  }
}
