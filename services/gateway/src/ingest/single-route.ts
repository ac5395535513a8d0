import type { RouteSignature } from '@nextvisit/contracts'
import type { Route } from '../http/route.ts'
import type { RecordKind, Stages } from './stages.ts'

/** Creates a route whose request is one record. */
export function createSingleRoute(signature: RouteSignature, kind: RecordKind, stages: Stages): Route {
  return {
    ...signature,
    handle: (request) => stages.record(kind, request),
  }
}
