import { DEVICE_FIELD_VALUES, DEVICE_FIELDS, type DeviceField, type DeviceFacts } from '@nextvisit/contracts'
// Only the codes: the package's index reads the names in 80 languages whenever a process starts.
import countries from 'i18n-iso-countries/codes.json' with { type: 'json' }
import { BODY_RULES } from './body-rules.ts'
import { reject, type Rejection } from './rejection.ts'
import { isTimezone } from './is-timezone.ts'
import { isJsonObject, memberOf } from './json-object.ts'

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
  if (field === '$timezone' && !isTimezone(value)) return reject(BODY_RULES.timezone(where))
  const allowed = DEVICE_FIELD_VALUES[field]
  if (allowed && !allowed.includes(value)) return reject(BODY_RULES.deviceValue(where, allowed))
  return { outcome: 'ok', value }
}

type ParsedDeviceInfo = { readonly outcome: 'ok'; readonly device: DeviceFacts } | Rejection

/** Parses `$deviceInfo` of a body, undefined for none. Unknown members are dropped (decisions.md, Identify). */
export function parseDeviceInfo(input: unknown): ParsedDeviceInfo {
  if (input === undefined) return { outcome: 'ok', device: {} }
  if (!isJsonObject(input)) return reject(BODY_RULES.deviceInfo)
  const device: Partial<Record<DeviceField, string>> = {}
  for (const field of DEVICE_FIELDS) {
    const value = memberOf(input, field)
    if (value === undefined) continue
    const checked = checkDeviceValue(field, value, `$deviceInfo.${field}`)
    if (checked.outcome === 'rejected') return checked
    device[field] = checked.value
  }
  return { outcome: 'ok', device }
}

function checkCountry(value: unknown): CheckedDeviceValue {
  // Letters are checked first: `ß` in upper case is `SS`, South Sudan.
  const code = typeof value === 'string' && /^[a-z]{2}$/i.test(value) ? value.toUpperCase() : ''
  return ASSIGNED_COUNTRIES.has(code) ? { outcome: 'ok', value: code } : reject(BODY_RULES.country)
}
