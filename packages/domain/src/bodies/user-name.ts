import { BODY_LIMITS, BODY_RULES } from './body-rules.ts'
import { reject, type Rejection } from './rejection.ts'
import { isLongerThan } from './is-longer-than.ts'

/** The userName of a track event, taken exactly as given (contract, Track event: at most 255 characters). */
export function checkUserName(userName: unknown): Rejection | undefined {
  if (typeof userName !== 'string' || userName.trim() === '') return reject(BODY_RULES.userName)
  return isLongerThan(userName, BODY_LIMITS.userNameLength) ? reject(BODY_RULES.longUserName) : undefined
}

/** The same for identify, where a userName that is missing, empty or only white space is a matter of 401 (decisions.md, Identify). */
export function checkIdentifiedUserName(userName: unknown): Rejection | undefined {
  if (userName === undefined || (typeof userName === 'string' && userName.trim() === ''))
    return reject(BODY_RULES.noUserName)
  return checkUserName(userName)
}
