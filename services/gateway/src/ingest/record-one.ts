import type { RouteSignature } from '@nextvisit/contracts'
import { type Route, type Result, isResult } from '../http/route.ts'
import { type AdmittedItem, type RequestedItem, type Kind, type Stages } from './stages.ts'

/** Runs the stages up to admission: read, lock, admit. */
export async function admitItem(
  stages: Stages,
  item: RequestedItem,
  isIdentified?: Promise<boolean>,
): Promise<AdmittedItem | Result> {
  const read = stages.read(item)
  if (isResult(read)) return read
  const locked = await stages.lock(read)
  return isResult(locked) ? locked : stages.admit(locked, isIdentified)
}

/** Runs all stages of an item. */
export async function recordOne(stages: Stages, item: RequestedItem): Promise<Result> {
  const admitted = await admitItem(stages, item)
  return isResult(admitted) ? admitted : stages.publish(admitted)
}

/** Creates routes whose request is one record. */
export function createSingleRoute(stages: Stages) {
  return (signature: RouteSignature, kind: Kind): Route => ({
    ...signature,
    handle: (request) => {
      const { requestId: id, idempotency, body } = request
      return recordOne(stages, { outcome: 'requested', kind, request, id, idempotency, body })
    },
  })
}
