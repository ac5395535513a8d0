import type { FormFact } from '@nextvisit/contracts'
import { uuidV5 } from '../ids.ts'

/** The id of a queue's row: the same whenever this record is processed, so that it queues a form once. */
export function queuedIdOf(recordId: string, received: string, formId: string): string {
  return uuidV5(`${received}/${formId}`, recordId)
}

/**
 * The id of a fact on `form-events`: the same for the same change of a row, so that readers drop duplicates by it. `visitId`:
 * for `FormDelivered` only, as a form may be shown at two visits.
 */
export function formFactIdOf(queuedId: string, type: FormFact['type'], visitId = ''): string {
  return uuidV5(`${type}/${visitId}`, queuedId)
}
