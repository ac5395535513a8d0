import { SegmentMember, SlugId, Uuid } from '@nextvisit/contracts'
import { z } from 'zod'

const place = { organization: SlugId, project: SlugId }

export const SegmentsQuery = z.strictObject({ ...place, page: z.coerce.number().int().min(1).default(1) })
export type SegmentsQuery = z.infer<typeof SegmentsQuery>

export const SegmentLine = z.strictObject({
  id: SlugId,
  name: z.string().nullable(),
  members: z.number().int(),
  /** With the present definition, and all. */
  usersComputed: z.number().int(),
  usersTotal: z.number().int(),
})
export type SegmentLine = z.infer<typeof SegmentLine>

export const SegmentsAnswer = z.strictObject({
  /** A page of them, by id. */
  segments: z.array(SegmentLine),
  pageSize: z.number().int(),
  total: z.number().int(),
})
export type SegmentsAnswer = z.infer<typeof SegmentsAnswer>

export const SegmentPath = z.strictObject({ ...place, segmentId: SlugId })
export type SegmentPath = z.infer<typeof SegmentPath>

export const SegmentQuery = SegmentPath.extend({ after: Uuid.optional() })
export type SegmentQuery = z.infer<typeof SegmentQuery>

export const SegmentAnswer = z.strictObject({
  ...SegmentLine.shape,
  /** Of the workspace file, in words. */
  where: z.string(),
  /** Whether userNames are masked. */
  isMasked: z.boolean(),
  /** A page of them, by user id. */
  users: z.array(z.strictObject(SegmentMember.shape)),
  /** For `after`. */
  next: Uuid.nullable(),
})
export type SegmentAnswer = z.infer<typeof SegmentAnswer>
