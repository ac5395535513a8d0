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
    occurredAt: Instant.describe('Time of the event, as given by the caller; by default `received`.'),
    newEvent: z.boolean().describe('This record registered the event in the project.'),
    metered: z.boolean().describe("Counts toward the organization's event limit: environment P, and not imported."),
    evaluateTriggers: z
      .boolean()
      .describe('The event was not older than 15 minutes when it was received, so it may trigger forms. Decided once.'),
    properties: slugMap(z.unknown(), (_input): _input is unknown => true)
      .optional()
      .describe("The caller's data about the event, as given, without `filteredFields`. Absent: none was given."),
    filteredFields: z
      .array(z.string())
      .optional()
      .describe(
        'Known device and personal fields among the properties that the project does not keep; their values never reach ' +
          'the log. Absent: none.',
      ),
    countsFor: z
      .array(z.string())
      .optional()
      .describe(
        'Hashes of the property counts that this event counts for. The project used them when the record was ' +
          'written, and the properties match. Decided once. Absent: none.',
      ),
    lease: Uuid.optional().describe(
      "The lease of room under the organization's event limit that this event used a unit of. Absent: none.",
    ),
  })
  .describe('An event of a user.')
export type EventTracked = z.infer<typeof EventTracked>
