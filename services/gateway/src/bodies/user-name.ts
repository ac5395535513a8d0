import { type Refusal, refuse } from '../refusal.ts'
import { isLongerThan } from './code-points.ts'

const MAX_LENGTH = 255

/** The userName of a track event, taken exactly as given (contract, Track event: at most 255 characters). */
export function checkUserName(userName: unknown): Refusal | undefined {
  if (typeof userName !== 'string' || userName.trim() === '')
    return refuse(400, 'userName must be a string that is not empty')
  if (isLongerThan(userName, MAX_LENGTH)) return refuse(400, `userName must be at most ${MAX_LENGTH} characters long`)
  return undefined
}

/** The same for identify, where a userName that is missing, empty or only white space is a matter of 401 (decisions.md, Identify). */
export function checkIdentifiedUserName(userName: unknown): Refusal | undefined {
  if (userName === undefined || (typeof userName === 'string' && userName.trim() === ''))
    return refuse(401, 'userName not found')
  return checkUserName(userName)
}
