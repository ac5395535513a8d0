import type { OperationId } from '../routes/route.ts'
import { identifyUser, visit } from './identify-operations.ts'
import type { Operation } from './operation.ts'
import { getUsage, listEvents, listTraits } from './project-operations.ts'
import { listSegments, listSegmentUsers } from './segment-operations.ts'
import { trackEvent, trackSdkEvent } from './track-operations.ts'
import { findUser, getUser, getUserForms } from './user-operations.ts'

/** What the document says of each row of the route table: one that is missing does not compile. */
export const OPERATIONS: Readonly<Record<OperationId, Operation>> = {
  identifyUser,
  trackEvent,
  visit,
  trackSdkEvent,
  getUser,
  findUser,
  getUserForms,
  getUsage,
  listTraits,
  listEvents,
  listSegments,
  listSegmentUsers,
}
