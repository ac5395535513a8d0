import { defineTable } from '@nextvisit/database'
import { SegmentCount, SegmentMember, SegmentProgress, User, UserEvent } from '../generated/tables.ts'

// Only the owner of a user's partition writes their rows, so whole rows replace each other.

export const users = defineTable(...User)
export const userEvents = defineTable(...UserEvent)
export const segmentMembers = defineTable(...SegmentMember)
export const segmentCounts = defineTable(...SegmentCount, { members: 'add' })
export const segmentProgress = defineTable(...SegmentProgress, {
  segments: 'keep',
  revision: 'greatest',
  users: 'add',
})
