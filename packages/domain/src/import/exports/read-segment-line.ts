import type { DeviceFacts, TraitValue } from '@nextvisit/contracts'
import { type JsonObject, memberIn, memberOf } from '../../bodies/json-object.ts'
import { reject } from '../../bodies/rejection.ts'
import { parseSegmentComMessage } from '../../segment-com/segment-com-message.ts'
import { EXPORT_RULES, parseExportedTime, type ReadExportLine } from './export-line.ts'

/** Members of a message that are read. An export adds others, which must not count toward its size. */
const MEMBERS = ['type', 'userId', 'anonymousId', 'event', 'properties', 'traits', 'context'] as const

/**
 * Reads a message as Segment and RudderStack store it: by the rules of Segment's API (decisions.md, Segment's API). The
 * stored `timestamp` is corrected already.
 */
export const readSegmentLine: ReadExportLine = (line, { project, receivedMs }) => {
  const message = Object.fromEntries(MEMBERS.map((name) => [name, memberOf(line, name)]))
  const parsed = parseSegmentComMessage(message, memberOf(line, 'type'), { sentAt: undefined, receivedMs }, project)
  if (parsed.outcome === 'rejected') return parsed
  if (parsed.outcome === 'ignored')
    return { outcome: 'skipped', reason: parsed.reason === 'anonymous' ? 'anonymous' : 'automatic' }
  const atMs = timeOf(line)
  if (atMs === undefined) return reject(EXPORT_RULES.time('timestamp'))
  const { identify } = parsed
  const user = {
    userName: memberOf(identify, 'userName') as string,
    atMs,
    set: (memberIn(memberOf(identify, 'userAttributes'), '$set') ?? {}) as Record<string, TraitValue>,
    setOnce: {},
    device: memberOf(identify, '$deviceInfo') as DeviceFacts,
    droppedTraits: parsed.outcome === 'identify' ? parsed.droppedTraits : 0,
  }
  if (parsed.outcome === 'identify') return { outcome: 'ok', user }
  return { outcome: 'ok', user, track: { ...parsed.track, id: memberOf(line, 'messageId') } }
}

function timeOf(line: JsonObject): number | undefined {
  const times = ['timestamp', 'originalTimestamp', 'receivedAt'].map((name) => memberOf(line, name))
  return parseExportedTime(times.find((time) => time !== undefined))
}
