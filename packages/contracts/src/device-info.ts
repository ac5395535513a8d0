import { z } from 'zod'

/** The names of the 16 members of `$deviceInfo`, in requests and records (contract, Device info table). */
export const DEVICE_FIELDS = [
  '$countryCode',
  '$timezone',
  '$deviceOs',
  '$deviceOsVersion',
  '$sdkVersion',
  '$app',
  '$appVersion',
  '$deviceLanguage',
  '$userLanguage',
  '$deviceId',
  '$urlOrScreenName',
  '$deviceType',
  '$deviceSize',
  '$preferredTheme',
  '$browser',
  '$browserVersion',
] as const
export type DeviceField = (typeof DEVICE_FIELDS)[number]

/** The values of members that have a fixed list of them. */
export const DEVICE_FIELD_VALUES: Partial<Record<DeviceField, readonly string[]>> = {
  $deviceOs: ['iOS', 'Android', 'Windows'],
  $deviceType: ['web', 'native'],
  $deviceSize: ['desktop', 'tablet', 'mobile'],
  $preferredTheme: ['light', 'dark'],
}

/** Known personal fields. A project's `allowedFields` is a subset of these and the device fields. */
export const PII_FIELDS = [
  'email',
  'phone',
  'name',
  'firstName',
  'lastName',
  'address',
  'birthday',
  'gender',
  'ipAddress',
] as const

export const KNOWN_FIELDS: readonly string[] = [...DEVICE_FIELDS, ...PII_FIELDS]
/** The fields that a project keeps by default (decisions.md, Identify, allow-list). */
export const DEFAULT_ALLOWED_FIELDS: readonly string[] = [...DEVICE_FIELDS, 'email', 'name']

/** Device facts in a record: checked and filtered, with `$countryCode` in upper case. */
export const DeviceFacts = z.partialRecord(z.enum(DEVICE_FIELDS), z.string())
export type DeviceFacts = z.infer<typeof DeviceFacts>
