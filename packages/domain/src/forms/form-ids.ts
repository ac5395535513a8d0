import type { FormFact } from '@nextvisit/contracts'
import { uuidV5 } from '../ids.ts'

/** The queue row's id: the same for the same record, so that processing it twice cannot queue twice. */
export function queuedIdOf(recordId: string, received: string, formId: string): string {
  return uuidV5(`${received}/${formId}`, recordId)
}

/**
 * The id of a fact on `form-events`: the same for the same change of the queue, to drop repeats by. `visitId` for
 * `FormDelivered` only, as a form may be shown at two visits.
 */
export function formFactIdOf(queuedId: string, type: FormFact['type'], visitId = ''): string {
  return uuidV5(`${type}/${visitId}`, queuedId)
}
