import { memberIn, memberOf } from '../../bodies/json-object.ts'
import { reject } from '../../bodies/rejection.ts'
import { instantOfLocal } from '../../time/instant-of-local.ts'
import {
  deviceFactsOf,
  EXPORT_RULES,
  type ExportLine,
  membersWithout,
  parseObjects,
  parseTimeOfUser,
  type ReadExportLine,
} from './export-line.ts'
import { exportedUserName, traitsOfExport } from './exported-user.ts'

/** Names that Mixpanel gives to properties. */
const OWN: readonly string[] = ['time', 'distinct_id', 'token', 'mp_country_code', 'mp_processing_time_ms']
const isMixpanels = (name: string) => name.startsWith('$') || name.startsWith('mp_') || OWN.includes(name)
/** Properties of a profile that are traits of ours. Its other reserved ones are facts that Mixpanel has collected. */
const TRAITS: readonly (readonly [string, string])[] = [
  ['$email', 'email'],
  ['$name', 'name'],
  ['$first_name', 'firstName'],
  ['$last_name', 'lastName'],
  ['$phone', 'phone'],
]
/** Events about ids, whose own id may be a device's. */
const ABOUT_IDS: readonly string[] = ['$identify', '$create_alias', '$merge']
/** Larger numbers are milliseconds: in seconds, this is the year 5138. */
const MAX_SECONDS = 100_000_000_000

/** Reads an event of Mixpanel's raw export, or a profile of its Engage API. */
export const readMixpanelLine: ReadExportLine = (line, settings) =>
  memberOf(line, '$distinct_id') === undefined ? readEvent(line, settings) : readProfile(line, settings)

/**
 * Reads an event. `time` is a Unix time, but projects that were created before 2023 export the time of day of their own zone
 * as if it were UTC.
 */
const readEvent: ReadExportLine = (line, { timeZone }) => {
  const eventName = memberOf(line, 'event')
  const parsed = parseObjects({ properties: memberOf(line, 'properties') })
  if (parsed.outcome === 'rejected') return parsed
  const { properties } = parsed.objects
  if (typeof eventName !== 'string') return reject(EXPORT_RULES.member('event', 'the name of the event'))
  if (!properties) return reject(EXPORT_RULES.member('properties', 'an object'))
  if (ABOUT_IDS.includes(eventName)) return { outcome: 'skipped', reason: 'automatic' }
  const distinctId = memberOf(properties, 'distinct_id')
  const id = memberOf(properties, '$user_id') ?? distinctId
  if (isOfDevice(id) || id === memberOf(properties, '$device_id')) return { outcome: 'skipped', reason: 'anonymous' }
  const userName = exportedUserName('properties.distinct_id', id)
  if (userName.outcome !== 'ok') return userName
  const time = memberOf(properties, 'time')
  if (typeof time !== 'number' || !Number.isFinite(time)) return reject(EXPORT_RULES.unixTime('properties.time'))
  const localMs = Math.floor(time > MAX_SECONDS ? time : time * 1_000)
  const instantMs = instantOfLocal(localMs, timeZone)
  const user = {
    userName: userName.userName,
    // No event may have a time that no Date represents, in any zone.
    atMs: Number.isNaN(instantMs) ? localMs : instantMs,
    set: {},
    setOnce: {},
    device: deviceFactsOf({
      $countryCode: memberOf(properties, 'mp_country_code'),
      $browser: memberOf(properties, '$browser'),
      $appVersion: memberOf(properties, '$app_version_string'),
    }),
    droppedTraits: 0,
  }
  if (eventName.startsWith('$')) return { outcome: 'ok', user }
  // Mixpanel takes two events for one if all four are equal.
  const insertId = memberOf(properties, '$insert_id')
  const identity = insertId === undefined ? undefined : [insertId, eventName, distinctId, time]
  return {
    outcome: 'ok',
    user,
    track: { id: identity, eventName, properties: membersWithout(properties, isMixpanels) },
  }
}

/** Reads a profile: the present traits of a user. */
const readProfile: ReadExportLine = (line, { project }): ExportLine => {
  const distinctId = memberOf(line, '$distinct_id')
  const parsed = parseObjects({ $properties: memberOf(line, '$properties') })
  if (parsed.outcome === 'rejected') return parsed
  const { $properties: properties } = parsed.objects
  if (!properties) return reject(EXPORT_RULES.member('$properties', 'an object'))
  if (isOfDevice(distinctId)) return { outcome: 'skipped', reason: 'anonymous' }
  const userName = exportedUserName('$distinct_id', distinctId)
  if (userName.outcome !== 'ok') return userName
  const named = TRAITS.flatMap(([theirs, ours]) => {
    const value = memberIn(properties, theirs)
    return value === undefined ? [] : [[ours, value]]
  })
  const given = { ...Object.fromEntries(named), ...membersWithout(properties, isMixpanels) }
  const traits = traitsOfExport('$properties', given, project)
  if (traits.outcome === 'rejected') return traits
  const createdMs = parseTimeOfUser(memberOf(properties, '$created'))
  const user = {
    userName: userName.userName,
    atMs: parseTimeOfUser(memberOf(properties, '$last_seen')) ?? createdMs,
    createdMs,
    set: traits.set,
    setOnce: {},
    device: deviceFactsOf({
      $countryCode: memberOf(properties, '$country_code'),
      $timezone: memberOf(properties, '$timezone'),
      $browser: memberOf(properties, '$browser'),
    }),
    droppedTraits: traits.dropped,
  }
  return { outcome: 'ok', user }
}

function isOfDevice(id: unknown): boolean {
  return typeof id === 'string' && id.startsWith('$device:')
}
