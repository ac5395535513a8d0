type Message = Readonly<Record<string, unknown>>

/** Where Segment's libraries send device members, by ours. Other members have no place there. */
const CONTEXT: ReadonlyMap<string, (value: unknown) => Message> = new Map<string, (value: unknown) => Message>([
  ['$deviceLanguage', (locale) => ({ locale })],
  ['$timezone', (timezone) => ({ timezone })],
  ['$deviceOs', (name) => ({ os: { name } })],
  ['$deviceOsVersion', (version) => ({ os: { version } })],
  ['$app', (name) => ({ app: { name } })],
  ['$appVersion', (version) => ({ app: { version } })],
  ['$deviceId', (id) => ({ device: { id } })],
])

const isObject = (value: unknown): value is Message =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The members of these objects; undefined if one of the objects cannot be said. */
const together = (parts: readonly (Message | undefined)[]): Message | undefined =>
  parts.every((part) => part !== undefined) ? Object.assign({}, ...parts) : undefined

/**
 * A request of a single route as a message (decisions.md, Segment's API), or undefined if Segment has no words for it.
 * Members that no route knows stay.
 */
export function segmentMessageOf(type: 'identify' | 'track', body: Message): Message | undefined {
  const { userName, eventName, occurredAt, userAttributes, $deviceInfo, ...rest } = body
  if (type === 'track') return { ...rest, type, userId: userName, event: eventName, timestamp: occurredAt }
  return together([rest, { type, userId: userName }, traitsOf(userAttributes), contextOf($deviceInfo)])
}

/** Segment's traits are a `$set`. */
function traitsOf(userAttributes: unknown): Message | undefined {
  if (userAttributes === undefined || userAttributes === null) return {}
  if (!isObject(userAttributes) || Object.keys(userAttributes).some((operator) => operator !== '$set')) return undefined
  return { traits: userAttributes['$set'] }
}

function contextOf($deviceInfo: unknown): Message | undefined {
  if ($deviceInfo === undefined || $deviceInfo === null) return {}
  if (!isObject($deviceInfo)) return undefined
  const context = together(Object.entries($deviceInfo).map(([member, value]) => CONTEXT.get(member)?.(value)))
  return context && { context }
}
