import { BODY_LIMITS } from '@nextvisit/contracts'
import { BODY_RULES } from './body-rules.ts'
import { type JsonObject, memberOf } from './json-object.ts'
import { reject, type Rejection } from './rejection.ts'
import { checkUserName } from './user-name.ts'

/** The body of `POST /v2/admin/erasures`. */
export interface ErasureBody {
  /** As given: a name may be repeated. */
  readonly userNames: readonly string[]
  readonly suppress: boolean
}

/** Parses the body of an erasure (decisions.md, Erasure). */
export function parseErasureBody(
  body: JsonObject,
): { readonly outcome: 'ok'; readonly value: ErasureBody } | Rejection {
  const userNames = memberOf(body, 'userNames')
  const isList = Array.isArray(userNames) && userNames.length > 0 && userNames.length <= BODY_LIMITS.erasedUserNames
  if (!isList) return reject(BODY_RULES.userNames)
  const wrongAt = userNames.findIndex((userName) => checkUserName(userName))
  if (wrongAt !== -1) return reject(BODY_RULES.erasedUserName(`userNames[${wrongAt}]`))
  const suppress = memberOf(body, 'suppress') ?? false
  if (typeof suppress !== 'boolean') return reject(BODY_RULES.suppress)
  return { outcome: 'ok', value: { userNames, suppress } }
}
