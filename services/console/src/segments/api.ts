import { SegmentMember, SlugId, Uuid } from '@nextvisit/contracts'
import { z } from 'zod'
import { type ApiTable, defineRoute, Nothing } from '../http/define-route.ts'

const place = { organization: SlugId, project: SlugId }

export const SegmentLine = z.strictObject({
  id: SlugId,
  name: z.string().nullable(),
  members: z.number().int(),
  /** Users computed with the current definition, and all users. */
  usersComputed: z.number().int(),
  usersTotal: z.number().int(),
})
export type SegmentLine = z.infer<typeof SegmentLine>

export const SegmentsAnswer = z.strictObject({
  /** One page, by id. */
  segments: z.array(SegmentLine),
  pageSize: z.number().int(),
  total: z.number().int(),
})
export type SegmentsAnswer = z.infer<typeof SegmentsAnswer>

export const SegmentPath = z.strictObject({ ...place, segmentId: SlugId })
export type SegmentPath = z.infer<typeof SegmentPath>

export const SegmentAnswer = z.strictObject({
  ...SegmentLine.shape,
  /** Condition of the workspace file, in words. */
  where: z.string(),
  /** userNames are masked. */
  isMasked: z.boolean(),
  /** One page, by user id. */
  users: z.array(z.strictObject(SegmentMember.shape)),
  /** `after` of the next page. */
  next: Uuid.nullable(),
})
export type SegmentAnswer = z.infer<typeof SegmentAnswer>

export const segmentsApi = {
  listSegments: defineRoute({
    role: 'viewer',
    input: z.strictObject({ ...place, page: z.coerce.number<number>().int().min(1).default(1) }),
    answer: SegmentsAnswer,
  }),
  readSegment: defineRoute({
    role: 'viewer',
    input: SegmentPath.extend({ after: Uuid.optional() }),
    answer: SegmentAnswer,
  }),
  revealSegment: defineRoute({
    role: 'viewer',
    input: SegmentPath,
    answer: Nothing,
    logged: ({ organization, project, segmentId }) => ({ organization, project, segmentId }),
  }),
} satisfies ApiTable
