import { z } from 'zod'

const segmentComTime = z.string().nullish()
const segmentComCommon = {
  userId: z
    .union([z.string(), z.number().int()])
    .nullish()
    .describe(
      'Becomes userName. A number beyond 9007199254740991 must be sent as text. A message without a userId is ignored.',
    ),
  anonymousId: z.unknown().optional().describe('A message without a userId is accepted and ignored.'),
  messageId: z
    .unknown()
    .optional()
    .describe('Any text, or an integer up to 9007199254740991. A message repeated within 24 hours is recorded once.'),
  timestamp: segmentComTime.describe(
    'ISO 8601 with a time zone, corrected by the clock difference in sentAt if the result is an allowed time. Default: now.',
  ),
  originalTimestamp: z.unknown().optional().describe('The same, as sent by RudderStack. Used if timestamp is absent.'),
  sentAt: segmentComTime.describe("The time when the request was sent, by the caller's clock."),
  context: z
    .unknown()
    .optional()
    .describe(
      'locale, timezone, os, app and device become device facts. For identify, traits that `traits` lacks are set.',
    ),
  writeKey: z.unknown().optional().describe('The admin key, if no header has it.'),
}

/** A message of Segment's API. Unlisted members are ignored. */
export const SegmentMessage = z.looseObject({
  ...segmentComCommon,
  type: z
    .unknown()
    .optional()
    .describe('In a batch: identify, track, page, screen, group or alias. Elsewhere the route determines it.'),
  traits: z.unknown().optional().describe('For identify. Nested objects become traits with dots in their names.'),
  event: z.unknown().optional().describe('For track. Becomes eventName.'),
  properties: z.unknown().optional().describe('For track.'),
})

/** `POST /v1/batch`. */
export const SegmentBatch = z.looseObject({
  batch: z.array(z.unknown()).max(2_500).describe('Messages, each of at most 32,768 bytes.'),
  sentAt: segmentComTime,
  writeKey: z.unknown().optional(),
})

export const SegmentAnswer = z.strictObject({
  success: z.literal(true),
  rejected: z.array(
    z.strictObject({
      index: z.number().int().describe('The position in the batch.'),
      messageId: z.string().optional(),
      status: z.number().int().describe('The status that the message alone would have got.'),
      message: z.string(),
    }),
  ),
})
