import type { DeviceFacts } from '@nextvisit/contracts'
import type { TraitChange } from '../traits/trait-operators.ts'
import { parseTraitOperations } from './trait-operations-body.ts'
import { BODY_RULES } from './body-rules.ts'
import { checkDeviceChange, isDeviceField, readDeviceInfo } from './device-info.ts'
import { type JsonObject, memberOf } from './json-object.ts'
import { reject, type Rejection } from './rejection.ts'
import { checkIdentifiedUserName } from './user-name.ts'

export interface IdentifyBody {
  readonly userName: string
  readonly changes: readonly TraitChange[]
  readonly device: DeviceFacts
  /** Names of the device facts of a visit that were invalid, and dropped. Anywhere else an invalid one is refused. */
  readonly invalidDeviceFields: readonly string[]
  readonly userSignature: string | undefined
}

type ParsedIdentifyBody = { readonly outcome: 'ok'; readonly value: IdentifyBody } | Rejection

/** Parses the body of an identify. Unknown top-level members are ignored (decisions.md, Order of checks). */
export function parseIdentifyBody(body: JsonObject): ParsedIdentifyBody {
  const parsed = parseMembers(body)
  if (parsed.outcome === 'rejected') return parsed
  const [invalid] = parsed.rejections.values()
  return invalid ?? { outcome: 'ok', value: { ...parsed.value, invalidDeviceFields: [] } }
}

/**
 * Parses the body of a visit, like that of an identify. Browsers report the device facts, not the customer, so an invalid one
 * is dropped: it must not cost the user a form, and all later events.
 */
export function parseVisitBody(body: JsonObject): ParsedIdentifyBody {
  const parsed = parseMembers(body)
  if (parsed.outcome === 'rejected') return parsed
  const invalid = new Set(parsed.rejections.keys())
  const changes = parsed.value.changes.filter((change) => {
    const { slug } = change
    const isValid = !isDeviceField(slug) || checkDeviceChange(slug, change).outcome === 'ok'
    if (!isValid) invalid.add(slug)
    return isValid
  })
  return { outcome: 'ok', value: { ...parsed.value, changes, invalidDeviceFields: [...invalid] } }
}

function parseMembers(body: JsonObject) {
  const userName = memberOf(body, 'userName')
  const rejection = checkIdentifiedUserName(userName)
  if (rejection) return rejection
  const attributes = parseTraitOperations(memberOf(body, 'userAttributes'))
  if (attributes.outcome === 'rejected') return attributes
  const userSignature = memberOf(body, 'userSignature')
  if (userSignature !== undefined && typeof userSignature !== 'string') return reject(BODY_RULES.signatureType)
  const { device, rejections } = readDeviceInfo(memberOf(body, '$deviceInfo'))
  const value = { userName: userName as string, changes: attributes.changes, device, userSignature }
  return { outcome: 'ok', value, rejections } as const
}
