import { memberOf } from '../../bodies/json-object.ts'
import { reject } from '../../bodies/rejection.ts'
import {
  deviceFactsOf,
  EXPORT_RULES,
  membersWithout,
  parseExportedTime,
  parseObjects,
  parseTimeOfUser,
  type ReadExportLine,
} from './export-line.ts'
import { exportedUserName, traitsOfExport } from './exported-user.ts'

const SYSTEMS: Readonly<Record<string, string>> = { ios: 'iOS', android: 'Android', windows: 'Windows' }
/** Names that Amplitude gives: of automatic events and their properties. */
const isAmplitudes = (name: string) => name.startsWith('$') || name.startsWith('[Amplitude] ')
const AUTOMATIC: readonly unknown[] = ['session_start', 'session_end', 'revenue_amount']

/** Reads an event of Amplitude's Export API. Its times are UTC without saying so. */
export const readAmplitudeLine: ReadExportLine = (line, { project }) => {
  const eventType = memberOf(line, 'event_type')
  if (typeof eventType !== 'string') return reject(EXPORT_RULES.member('event_type', 'the name of the event'))
  if (eventType === '$groupidentify') return { outcome: 'skipped', reason: 'automatic' }
  const userName = exportedUserName('user_id', memberOf(line, 'user_id'))
  if (userName.outcome !== 'ok') return userName
  const atMs = parseExportedTime(memberOf(line, 'event_time') ?? memberOf(line, 'client_event_time'))
  if (atMs === undefined) return reject(EXPORT_RULES.time('event_time'))
  const parsed = parseObjects({
    user_properties: memberOf(line, 'user_properties'),
    event_properties: memberOf(line, 'event_properties'),
  })
  if (parsed.outcome === 'rejected') return parsed
  const { user_properties: userProperties, event_properties: eventProperties } = parsed.objects
  const given = membersWithout(userProperties, isAmplitudes)
  const traits = traitsOfExport('user_properties', given, project)
  if (traits.outcome === 'rejected') return traits
  const system = memberOf(line, 'os_name')
  const user = {
    userName: userName.userName,
    atMs,
    createdMs: parseTimeOfUser(memberOf(line, 'user_creation_time')),
    set: traits.set,
    setOnce: {},
    device: deviceFactsOf({
      $deviceOs: typeof system === 'string' ? SYSTEMS[system.toLowerCase()] : undefined,
      $deviceId: memberOf(line, 'device_id'),
      $appVersion: memberOf(line, 'version_name'),
    }),
    droppedTraits: traits.dropped,
  }
  if (isAmplitudes(eventType) || AUTOMATIC.includes(eventType)) return { outcome: 'ok', user }
  const track = {
    id: memberOf(line, 'uuid') ?? memberOf(line, '$insert_id') ?? memberOf(line, 'insert_id'),
    eventName: eventType,
    properties: membersWithout(eventProperties, isAmplitudes),
  }
  return { outcome: 'ok', user, track }
}
