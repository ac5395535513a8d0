import type { RouteSignature, UserFact } from '@nextvisit/contracts'
import type { Route } from '../http/route.ts'
import type { PrepareRecord, Recording } from './prepare-record.ts'
import type { SignedBody } from './user-signature.ts'

/** A route of one request, one record: publishes what was prepared at once. */
export function createSingleRoute(prepare: PrepareRecord) {
  return <Body extends SignedBody, Fact extends UserFact>(
    signature: RouteSignature,
    recording: Recording<Body, Fact>,
  ): Route => ({
    ...signature,
    handle: async (request) => {
      const prepared = await prepare(recording, request)
      return prepared.outcome === 'prepared' ? prepared.publish() : prepared
    },
  })
}
