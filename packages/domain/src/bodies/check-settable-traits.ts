import type { ProjectPolicy } from '../project-policy.ts'
import { BODY_RULES } from './body-rules.ts'
import { isDeviceField } from './device-info.ts'
import type { IdentifyBody } from './identify-body.ts'
import { reject, type Rejection, truncate } from './rejection.ts'

/**
 * Checks that a publishable key changes only the traits that the project lists, under any operator (decisions.md, Publishable
 * keys). Device fields are device facts, which pages report.
 */
export function checkSettableTraits(
  { settableTraits }: Pick<ProjectPolicy, 'settableTraits'>,
  { changes }: Pick<IdentifyBody, 'changes'>,
): Rejection | undefined {
  if (!settableTraits) return undefined
  const refused = changes.find(({ slug }) => !settableTraits.has(slug) && !isDeviceField(slug))
  if (!refused) return undefined
  return reject(BODY_RULES.settableTrait(`userAttributes.$${refused.operator}.${truncate(refused.slug)}`))
}
