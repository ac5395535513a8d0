import type { UserFact } from '@nextvisit/contracts'
import type { Answer, Refusal } from '@nextvisit/public-api'
import type { CheckedRequest } from '../request/route.ts'
import type { PrepareRecord, Recording } from './prepare-record.ts'

export type RecordRequest = ReturnType<typeof createRecordRequest>

/** One request, one record: publishes what was prepared at once. */
export function createRecordRequest(prepare: PrepareRecord) {
  return async <Body extends { readonly userName: string }, Fact extends UserFact>(
    recording: Recording<Body, Fact>,
    request: CheckedRequest,
  ): Promise<Answer | Refusal> => {
    const paid = await request.pay([request.body])
    if (paid.outcome === 'refused') return paid
    const prepared = await prepare(recording, request)
    return prepared.outcome === 'prepared' ? prepared.publish() : prepared
  }
}
