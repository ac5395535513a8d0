import { z } from 'zod'
import { Instant, Uuid } from '../primitives.ts'
import { slugMap } from './traits.ts'
import { requestMembers, userFactMembers } from './user-fact-members.ts'

export const EventTracked = z
  .object({
    type: z.literal('EventTracked').describe('As in `ce_type`.'),
    ...userFactMembers,
    ...requestMembers,
    eventName: z.string().describe('The name as the caller wrote it.'),
    slug: z.string().describe("The event's identity: two names with the same slug are one event."),
    occurredAt: Instant.describe('When it happened, as the caller says; by default `received`.'),
    newEvent: z.boolean().describe('This record registered the event in the project.'),
    metered: z.boolean().describe("Counts toward the organization's event limit: environment P, and not imported."),
    evaluateTriggers: z
      .boolean()
      .describe(
        'Not older than 15 minutes when it was received, so it may trigger forms. This is never decided again.',
      ),
    properties: slugMap(z.unknown(), (_input): _input is unknown => true)
      .optional()
      .describe('What the caller says about the event, as given, but for `filteredFields`. Absent: nothing was given.'),
    filteredFields: z
      .array(z.string())
      .optional()
      .describe(
        'Known device and personal fields among the properties that the project does not keep; their values never reach ' +
          'the log. Absent: there were none.',
      ),
    countsFor: z
      .array(z.string())
      .optional()
      .describe(
        'The property counts that this event counts for, by their hashes: the project asked for them when the record was ' +
          'written, and the properties are as they ask. This is never decided again. Absent: there are none.',
      ),
    lease: Uuid.optional().describe(
      "The lease that this event used a unit of: room under the organization's event limit. Absent: it used none.",
    ),
  })
  .describe('One thing that happened to a user.')
export type EventTracked = z.infer<typeof EventTracked>
