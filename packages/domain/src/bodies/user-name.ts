import { reject, type Rejection } from './rejection.ts'
import { isLongerThan } from './is-longer-than.ts'

const MAX_LENGTH = 255

/** The userName of a track event, taken exactly as given (contract, Track event: at most 255 characters). */
export function checkUserName(userName: unknown): Rejection | undefined {
  if (typeof userName !== 'string' || userName.trim() === '')
    return reject('userName must be a string that is not empty')
  if (isLongerThan(userName, MAX_LENGTH)) return reject(`userName must be at most ${MAX_LENGTH} characters long`)
  return undefined
}

/** The same for identify, where a userName that is missing, empty or only white space is a matter of 401 (decisions.md, Identify). */
export function checkIdentifiedUserName(userName: unknown): Rejection | undefined {
  if (userName === undefined || (typeof userName === 'string' && userName.trim() === ''))
    return reject('userName not found', 'no-user-name')
  return checkUserName(userName)
}
