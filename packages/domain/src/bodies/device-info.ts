import {
  DEVICE_FIELD_VALUES,
  DEVICE_FIELDS,
  type DeviceField,
  type DeviceFacts,
  isStorable,
} from '@nextvisit/contracts'
// Only the codes: the package's index reads the names in 80 languages whenever a process starts.
import countries from 'i18n-iso-countries/codes.json' with { type: 'json' }
import { TRAIT_OPERATORS, type TraitChange } from '../traits/trait-operators.ts'
import { BODY_RULES } from './body-rules.ts'
import { reject, type Rejection } from './rejection.ts'
import { isTimezone } from './is-timezone.ts'
import { emptyAsObject, isJsonObject, memberOf } from './json-object.ts'

// XK is in use by agreement; ISO has not assigned it.
const ASSIGNED_COUNTRIES = new Set(countries.flatMap(([code]) => (code === undefined || code === 'XK' ? [] : [code])))
const deviceFields: ReadonlySet<string> = new Set(DEVICE_FIELDS)

export function isDeviceField(name: string): name is DeviceField {
  return deviceFields.has(name)
}

type CheckedDeviceValue = { readonly outcome: 'ok'; readonly value: string } | Rejection

/** Checks one device field against the contract's Device info table. `where` names it in the message. */
export function checkDeviceValue(field: DeviceField, value: unknown, where: string): CheckedDeviceValue {
  if (field === '$countryCode') return checkCountry(value)
  if (typeof value !== 'string') return reject(BODY_RULES.deviceString(where))
  // The check of a visit's strings skips device facts.
  if (!isStorable(value)) return reject(BODY_RULES.notStorable(where))
  if (field === '$timezone' && !isTimezone(value)) return reject(BODY_RULES.timezone(where))
  const allowed = DEVICE_FIELD_VALUES[field]
  if (allowed && !allowed.includes(value)) return reject(BODY_RULES.deviceValue(where, allowed))
  return { outcome: 'ok', value }
}

/** Checks a device field that is the slug of a trait operation. `value` undefined: the operation sets no fact. */
export function checkDeviceChange(
  field: DeviceField,
  { operator, value }: TraitChange,
): { readonly outcome: 'ok'; readonly value: string | undefined } | Rejection {
  const { deviceField } = TRAIT_OPERATORS[operator]
  const where = `userAttributes.$${operator}.${field}`
  if (deviceField === 'refused') return reject(BODY_RULES.counted(where))
  // Device facts are never removed.
  if (deviceField === 'ignored' || value === null) return { outcome: 'ok', value: undefined }
  return checkDeviceValue(field, value, where)
}

interface ReadDeviceInfo {
  /** The valid members. Unknown ones are dropped (decisions.md, Identify). */
  readonly device: DeviceFacts
  /** A rejection of each invalid member, by its name. */
  readonly rejections: ReadonlyMap<string, Rejection>
}

/** Reads `$deviceInfo` of a body, undefined for none. */
export function readDeviceInfo(given: unknown): ReadDeviceInfo {
  const device: Partial<Record<DeviceField, string>> = {}
  const rejections = new Map<string, Rejection>()
  const input = emptyAsObject(given)
  if (input === undefined) return { device, rejections }
  if (!isJsonObject(input)) return { device, rejections: rejections.set('$deviceInfo', reject(BODY_RULES.deviceInfo)) }
  for (const field of DEVICE_FIELDS) {
    const value = memberOf(input, field)
    if (value === undefined) continue
    const checked = checkDeviceValue(field, value, `$deviceInfo.${field}`)
    if (checked.outcome === 'ok') device[field] = checked.value
    else rejections.set(field, checked)
  }
  return { device, rejections }
}

function checkCountry(value: unknown): CheckedDeviceValue {
  // Letters are checked first: `ß` in upper case is `SS`, South Sudan.
  const code = typeof value === 'string' && /^[a-z]{2}$/i.test(value) ? value.toUpperCase() : ''
  return ASSIGNED_COUNTRIES.has(code) ? { outcome: 'ok', value: code } : reject(BODY_RULES.country)
}
