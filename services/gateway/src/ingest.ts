import type { UserFact } from '@nextvisit/contracts'
import { userIdOf } from '@nextvisit/domain'
import type { Admission, RecordPlace } from './admission/admission.ts'
import type { RecordLog } from './record-log.ts'
import { busy, type Refusal } from './refusal.ts'
import type { CheckedRequest } from './route.ts'

export interface IngestOptions<Fact extends UserFact> {
  readonly userName: string
  readonly admit: (place: RecordPlace) => Promise<Admission<Fact>>
  /** Channel on which the evaluator's reply is waited for. */
  readonly replyTo?: string | undefined
}

export type Ingested<Fact> =
  | { readonly outcome: 'recorded'; readonly fact: Fact; readonly place: RecordPlace }
  | Refusal

/** Admit, publish, settle: what every request goes through that becomes a record. */
export type Ingest = <Fact extends UserFact>(
  request: CheckedRequest,
  options: IngestOptions<Fact>,
) => Promise<Ingested<Fact>>

/** `onRecorded` is told of every record that is in the log, or may be. */
export function createIngest(log: RecordLog, onRecorded: (fact: UserFact) => void): Ingest {
  return async (request, { userName, admit, replyTo }) => {
    const { deadlineAt, traceparent } = request
    const { organization, project } = request.project
    const place = log.placeOf(userIdOf(organization, project, userName))
    if (!place) return notRecorded()
    const admission = await admit(place)
    if (admission.outcome === 'refused') return admission
    const published = await log.publish(admission.fact, place, { deadlineAt, traceparent, replyTo })
    if (published !== 'not-published') onRecorded(admission.fact)
    await admission.settle(published)
    if (published === 'published') return { outcome: 'recorded', fact: admission.fact, place }
    return { ...notRecorded(), mayBeRecorded: published === 'unknown' }
  }
}

/** Also for an unknown outcome: never an acknowledgement for a record that may not be in Kafka. */
function notRecorded(): Refusal {
  return busy('This could not be recorded now: try again')
}
