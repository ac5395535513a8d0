import { z } from 'zod'
import { Instant } from '../primitives.ts'
import { DeviceFacts } from '../device-info.ts'
import { TraitOperations } from './traits.ts'
import { requestMembers, userFactMembers } from './user-fact-members.ts'

export const IdentifyRequested = z
  .object({
    type: z.literal('IdentifyRequested').describe('As in `ce_type`.'),
    ...userFactMembers,
    ...requestMembers,
    operations: TraitOperations.describe(
      'The changes to traits: set, setOnce, increment, decrement, unset, in this order.',
    ),
    device: DeviceFacts.describe('Device facts, validated and filtered; they overwrite known facts.'),
    registeredTraits: z.array(z.string()).describe('Slugs that this record registered in the project.'),
    strippedTraits: z.array(z.string()).describe('Slugs over the unique-traits cap; their values never reach the log.'),
    droppedTraits: z.array(z.string()).describe('Disabled slugs; their values never reach the log.'),
    filteredFields: z
      .array(z.string())
      .describe('Known device and personal fields that the project does not keep; their values never reach the log.'),
    occurredAt: Instant.optional().describe(
      'Time of the identify, if the record was imported and its line has one; otherwise use `received`.',
    ),
  })
  .describe('An identify of a user: admitted trait operations and device facts. With an SDK key it is a visit.')
export type IdentifyRequested = z.infer<typeof IdentifyRequested>
