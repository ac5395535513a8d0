type Message = Readonly<Record<string, unknown>>

/** Segment's locations of device members, by our names. Other members have none. */
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

/** Merges objects; undefined if one of them is undefined. */
const together = (parts: readonly (Message | undefined)[]): Message | undefined =>
  parts.every((part) => part !== undefined) ? Object.assign({}, ...parts) : undefined

/**
 * Converts a request of a single route to a message (decisions.md, Segment's API); undefined if Segment cannot express it.
 * Unknown members are kept.
 */
export function segmentMessageOf(type: 'identify' | 'track', body: Message): Message | undefined {
  const { userName, eventName, occurredAt, userAttributes, $deviceInfo, ...rest } = body
  if (type === 'track') return { ...rest, type, userId: userName, event: eventName, timestamp: occurredAt }
  return together([rest, { type, userId: userName }, traitsOf(userAttributes), contextOf($deviceInfo)])
}

/** Converts a `$set` to Segment's traits. */
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
