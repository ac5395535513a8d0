/** The names of members as Segment has them. */
const MEMBERS: Readonly<Record<string, string>> = {
  userName: 'userId',
  eventName: 'event',
  occurredAt: 'timestamp',
  'userAttributes.$set': 'traits',
  userAttributes: 'traits',
}

/** The message of a refusal to whoever sent a message of Segment's API, and knows no member of ours. */
export function inSegmentsWords(message: string): string {
  return message.replace(
    /^(?:userName|eventName|occurredAt|userAttributes(?:\.\$set)?)\b/,
    (name) => MEMBERS[name] ?? name,
  )
}
