import type { QueueStateFact } from '@nextvisit/contracts'
import { uuidV5 } from '../../ids.ts'

/** Returns the id of a queue's row. It depends only on the record and the form, so a record queues a form once. */
export function queuedIdOf(recordId: string, received: string, formId: string): string {
  return uuidV5(`${received}/${formId}`, recordId)
}

/** Returns the id of the fact that an erasure has ended a queue. */
export function queueErasedIdOf(userErasedId: string): string {
  return uuidV5('QueueErased', userErasedId)
}

/**
 * Returns the id of a fact on `form-events`. It is the same for the same change of a row, so that readers can drop
 * duplicates. `visitId`: for `FormDelivered` only, because a form may be shown at two visits.
 */
export function formFactIdOf(queuedId: string, type: QueueStateFact['type'], visitId = ''): string {
  return uuidV5(`${type}/${visitId}`, queuedId)
}
