import { nameRules } from '../bodies/rejection.ts'

/** The limits of Segment's own API (decisions.md, Segment's API). */
export const SEGMENT_COM_LIMITS = { batchMessages: 2_500, messageBytes: 32_768 } as const

/** JSON.parse rounds a larger number, so that two ids could become one. */
const idNumber = (member: string) => ({
  message: `${member} must be text, or a whole number of at most ${Number.MAX_SAFE_INTEGER}: send any other number as text`,
  when: `A fraction, or a number that is too large, as ${member}`,
})

const { batchMessages, messageBytes } = SEGMENT_COM_LIMITS

/** The rules for a message, before it becomes the body of a single route. */
export const SEGMENT_COM_RULES = nameRules({
  batch: {
    message: `batch must be an array of at most ${batchMessages} messages`,
    when: `batch of another type, or more than ${batchMessages}`,
  },
  message: { message: 'A message must be a JSON object', when: 'A message that is no object' },
  messageBytes: {
    message: `A message must be at most ${messageBytes} bytes as JSON`,
    when: `A message of more than ${messageBytes} bytes`,
    status: 413,
  },
  messageType: {
    message: 'type must be identify, track, page, screen, group or alias',
    when: 'A message of another type',
  },
  messageIdNumber: idNumber('messageId'),
  userIdNumber: idNumber('userId'),
  messageUser: { message: 'userId or anonymousId must be given', when: 'A message without a user' },
})

/** Segment's names of members. */
const MEMBERS: Readonly<Record<string, string>> = {
  userName: 'userId',
  eventName: 'event',
  occurredAt: 'timestamp',
  'userAttributes.$set': 'traits',
  userAttributes: 'traits',
}

/** Replaces our name of the member with Segment's, in a refusal of a message of Segment's API. */
export function inSegmentComWords<Refusal extends { readonly message: string; readonly member?: string }>(
  refusal: Refusal,
): Refusal {
  const { message, member } = refusal
  return { ...refusal, message: renamed(message), ...(member !== undefined && { member: renamed(member) }) }
}

function renamed(words: string): string {
  return words.replace(
    /^(?:userName|eventName|occurredAt|userAttributes(?:\.\$set)?)\b/,
    (name) => MEMBERS[name] ?? name,
  )
}
