import { defineTable } from '@nextvisit/database'
import { FormAnswers, SegmentCount, SegmentMember, SegmentProgress, User, UserEvent } from '../generated/tables.ts'

// Only the owner of a user's partition writes the user's rows, so upserts replace whole rows.

export const users = defineTable(...User)
export const userEvents = defineTable(...UserEvent)
export const formAnswers = defineTable(...FormAnswers)
export const segmentMembers = defineTable(...SegmentMember)
export const segmentCounts = defineTable(...SegmentCount, { members: 'add' })
export const segmentProgress = defineTable(...SegmentProgress, {
  segments: 'keep',
  revision: 'greatest',
  users: 'add',
})
