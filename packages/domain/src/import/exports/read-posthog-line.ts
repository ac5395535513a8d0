import { type JsonObject, memberIn, memberOf } from '../../bodies/json-object.ts'
import { reject } from '../../bodies/rejection.ts'
import {
  deviceFactsOf,
  EXPORT_RULES,
  membersWithout,
  parseExportedTime,
  parseObjects,
  type ReadExportLine,
} from './export-line.ts'
import { exportedUserName, traitsOfExport } from './exported-user.ts'

/** Names that PostHog gives. Its libraries also copy the key and the user's id into the properties. */
const isPostHogs = (name: string) => name.startsWith('$') || name === 'token' || name === 'distinct_id'

/** Events about other ids: of groups, whose own id is no user's, and of users with several. */
const ABOUT_IDS: readonly string[] = ['$groupidentify', '$create_alias', '$merge_dangerously']

/**
 * Reads an event of PostHog: a line of a batch export, or an event of its API. `person_properties` are the person as of the
 * event; `$set` and `$set_once` are changes that the event made.
 */
export const readPostHogLine: ReadExportLine = (line, { project }) => {
  const event = memberOf(line, 'event')
  if (typeof event !== 'string') return reject(EXPORT_RULES.member('event', 'the name of the event'))
  if (ABOUT_IDS.includes(event)) return { outcome: 'skipped', reason: 'automatic' }
  const ofLine = parseObjects({
    properties: memberOf(line, 'properties'),
    person_properties: memberOf(line, 'person_properties'),
    'person.properties': memberIn(memberOf(line, 'person'), 'properties'),
    $set: memberOf(line, '$set'),
    $set_once: memberOf(line, '$set_once'),
  })
  if (ofLine.outcome === 'rejected') return ofLine
  const { properties = {}, $set: set, $set_once: setOnce } = ofLine.objects
  const { 'person.properties': ofPerson, person_properties: person = ofPerson } = ofLine.objects
  const ofProperties = parseObjects({
    'properties.$set': memberOf(properties, '$set'),
    'properties.$set_once': memberOf(properties, '$set_once'),
  })
  if (ofProperties.outcome === 'rejected') return ofProperties
  if (isAnonymous(memberOf(line, 'distinct_id'), properties)) return { outcome: 'skipped', reason: 'anonymous' }
  const userName = exportedUserName('distinct_id', memberOf(line, 'distinct_id'))
  if (userName.outcome !== 'ok') return userName
  const atMs = parseExportedTime(memberOf(line, 'timestamp'))
  if (atMs === undefined) return reject(EXPORT_RULES.time('timestamp'))
  const { 'properties.$set': ownSet, 'properties.$set_once': ownSetOnce } = ofProperties.objects
  const traits = traitsOfExport(
    'person_properties',
    membersWithout({ ...person, ...set, ...ownSet }, isPostHogs),
    project,
  )
  if (traits.outcome === 'rejected') return traits
  const first = traitsOfExport('$set_once', membersWithout({ ...setOnce, ...ownSetOnce }, isPostHogs), project)
  if (first.outcome === 'rejected') return first
  const user = {
    userName: userName.userName,
    atMs,
    set: traits.set,
    setOnce: first.set,
    device: deviceFactsOf({
      $countryCode: memberOf(properties, '$geoip_country_code'),
      $timezone: memberOf(properties, '$timezone'),
      $browser: memberOf(properties, '$browser'),
      $deviceLanguage: memberOf(properties, '$browser_language'),
    }),
    droppedTraits: traits.dropped + first.dropped,
  }
  if (event.startsWith('$')) return { outcome: 'ok', user }
  const id = memberOf(line, 'uuid') ?? memberOf(line, 'id')
  return { outcome: 'ok', user, track: { id, eventName: event, properties: membersWithout(properties, isPostHogs) } }
}

/** Returns whether an event is anonymous: its library reports it as such, or its id is a device's. */
function isAnonymous(distinctId: unknown, properties: JsonObject): boolean {
  if (memberOf(properties, '$process_person_profile') === false) return true
  if (memberOf(properties, '$is_identified') === false) return true
  const isOfDevice = distinctId !== undefined && distinctId === memberOf(properties, '$device_id')
  return isOfDevice || (typeof distinctId === 'string' && distinctId.startsWith('$posthog_cookieless'))
}
