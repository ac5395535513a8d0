import type { DeviceFacts } from '@nextvisit/contracts'
import type { TraitChange } from '../traits/trait-operators.ts'
import { parseTraitOperations } from './trait-operations-body.ts'
import { BODY_RULES } from './body-rules.ts'
import { parseDeviceInfo } from './device-info.ts'
import { type JsonObject, memberOf } from './json-object.ts'
import { reject, type Rejection } from './rejection.ts'
import { checkIdentifiedUserName } from './user-name.ts'

export interface IdentifyBody {
  readonly userName: string
  readonly changes: readonly TraitChange[]
  readonly device: DeviceFacts
  readonly userSignature: string | undefined
}

type ParsedIdentifyBody = { readonly outcome: 'ok'; readonly value: IdentifyBody } | Rejection

/**
 * Parses the body of an identify with either kind of key. Unknown top-level members are ignored (decisions.md, Order of
 * checks).
 */
export function parseIdentifyBody(body: JsonObject): ParsedIdentifyBody {
  const userName = memberOf(body, 'userName')
  const rejection = checkIdentifiedUserName(userName)
  if (rejection) return rejection
  const attributes = parseTraitOperations(memberOf(body, 'userAttributes'))
  if (attributes.outcome === 'rejected') return attributes
  const deviceInfo = parseDeviceInfo(memberOf(body, '$deviceInfo'))
  if (deviceInfo.outcome === 'rejected') return deviceInfo
  const userSignature = memberOf(body, 'userSignature')
  if (userSignature !== undefined && typeof userSignature !== 'string') return reject(BODY_RULES.signatureType)
  return {
    outcome: 'ok',
    value: { userName: userName as string, changes: attributes.changes, device: deviceInfo.device, userSignature },
  }
}
