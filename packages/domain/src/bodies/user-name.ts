import { BODY_LIMITS, isLongerThan } from '@nextvisit/contracts'
import { BODY_RULES } from './body-rules.ts'
import { reject, type Rejection } from './rejection.ts'

/** Checks the userName of a tracked event, which is taken exactly as given (contract, Track event: at most 255 characters). */
export function checkUserName(userName: unknown): Rejection | undefined {
  if (typeof userName !== 'string' || userName.trim() === '') return reject(BODY_RULES.userName)
  return isLongerThan(userName, BODY_LIMITS.userNameLength) ? reject(BODY_RULES.longUserName) : undefined
}

/** Checks the userName of an identify. A missing, empty or blank one is answered 401 (decisions.md, Identify). */
export function checkIdentifiedUserName(userName: unknown): Rejection | undefined {
  if (userName === undefined || (typeof userName === 'string' && userName.trim() === ''))
    return reject(BODY_RULES.noUserName)
  return checkUserName(userName)
}
