import type { DeviceFacts } from '@nextvisit/contracts'
import type { TraitChange } from '../traits/trait-operators.ts'
import { parseTraitOperations } from './trait-operations-body.ts'
import { BODY_RULES } from './body-rules.ts'
import { checkDeviceChange, isDeviceField, readDeviceInfo } from './device-info.ts'
import { isJsonObject, type JsonObject, memberOf } from './json-object.ts'
import { type ParsedJson, parseJson } from './parse-json.ts'
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

/** Parses the JSON of a visit. A deep value, or a string that Postgres cannot store, refuses it, but not as a device fact. */
export function parseVisitJson(bytes: Uint8Array): ParsedJson {
  return parseJson(bytes, { partOf: withoutDevice })
}

/**
 * Parses the body of a visit, like that of an identify. Browsers report the device facts, not the customer. An invalid
 * fact is dropped, because a refused visit would cost the user a form and all later events.
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
  const invalid = new Map([...attributes.invalidDevice, ...rejections])
  const value = { userName: userName as string, changes: attributes.changes, device, userSignature }
  return { outcome: 'ok', value, rejections: invalid } as const
}

/** Returns a body without `$deviceInfo` and the device fields in operators. The body is not checked yet. */
function withoutDevice(body: JsonObject): JsonObject {
  const attributes = memberOf(body, 'userAttributes')
  const rest = without(body, (name) => name === '$deviceInfo')
  if (!isJsonObject(attributes)) return rest
  const operators = Object.entries(attributes).map(([operator, operands]) => [
    operator,
    isJsonObject(operands) ? without(operands, isDeviceField) : operands,
  ])
  return { ...rest, userAttributes: Object.fromEntries(operators) }
}

function without(object: JsonObject, isLeftOut: (name: string) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !isLeftOut(name)))
}
