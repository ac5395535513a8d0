import { nameRules } from '../bodies/name-rules.ts'

/** Segment's own limits (decisions.md, Segment's API). */
export const SEGMENT_LIMITS = { batchMessages: 2_500, messageBytes: 32_768 } as const

/** Beyond the largest whole number that is exact, JSON.parse makes one number of several. */
const idNumber = (member: string) => ({
  message: `${member} must be text, or a whole number of at most ${Number.MAX_SAFE_INTEGER}: send any other number as text`,
  when: `A fraction, or a number that is too large, as ${member}`,
})

const { batchMessages, messageBytes } = SEGMENT_LIMITS

/** What a message must be before it becomes the body of a single route. */
export const SEGMENT_RULES = nameRules({
  batch: {
    message: `batch must be an array of at most ${batchMessages} messages`,
    when: `batch of another type, or more than ${batchMessages}`,
  },
  message: { message: 'A message must be a JSON object', when: 'A message that is no object' },
  messageBytes: {
    message: `A message must be at most ${messageBytes} bytes as JSON`,
    when: `A message of more than ${messageBytes} bytes`,
    reason: 'too-large',
  },
  messageType: {
    message: 'type must be identify, track, page, screen, group or alias',
    when: 'A message of another type',
  },
  messageIdNumber: idNumber('messageId'),
  userIdNumber: idNumber('userId'),
  messageUser: { message: 'userId or anonymousId must be given', when: 'A message without a user' },
})
