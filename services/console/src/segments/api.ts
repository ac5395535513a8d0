import { projectFields, SegmentMember, SlugId, Uuid } from '@nextvisit/contracts'
import { z } from 'zod'
import { defineRoute, Nothing } from '../http/define-route.ts'

const SegmentLine = z.strictObject({
  id: SlugId,
  name: z.string().nullable(),
  members: z.number().int(),
  /** Users computed with the current condition, and all users. */
  usersComputed: z.number().int(),
  usersTotal: z.number().int(),
})
export type SegmentLine = z.infer<typeof SegmentLine>

const SegmentPath = z.strictObject({ ...projectFields, segmentId: SlugId })

export const segmentsApi = {
  listSegments: defineRoute({
    role: 'viewer',
    input: z.strictObject({ ...projectFields, page: z.coerce.number<number>().int().min(1).default(1) }),
    answer: z.strictObject({
      /** One page, by id. */
      segments: z.array(SegmentLine),
      pageSize: z.number().int(),
      total: z.number().int(),
    }),
  }),
  readSegment: defineRoute({
    role: 'viewer',
    input: SegmentPath.extend({ after: Uuid.optional() }),
    answer: SegmentLine.extend({
      /** Condition of the workspace file, in words. */
      where: z.string(),
      /** userNames are masked. */
      isMasked: z.boolean(),
      /** One page, by user id. */
      users: z.array(SegmentMember),
      /** `after` of the next page. */
      next: Uuid.nullable(),
    }),
  }),
  revealSegment: defineRoute({
    role: 'viewer',
    input: SegmentPath,
    answer: Nothing,
    logged: ({ organization, project, segmentId }) => ({ organization, project, segmentId }),
  }),
}
