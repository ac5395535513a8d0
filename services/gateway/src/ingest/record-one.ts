import type { RouteSignature } from '@nextvisit/contracts'
import type { Route } from '../http/route.ts'
import { type AdmittedItem, type AskedItem, type Ended, hasEnded, type Kind, type Stages } from './stages.ts'

/** Runs the stages up to admission: read, lock, admit. */
export async function admitItem(
  stages: Stages,
  asked: AskedItem,
  isIdentified?: Promise<boolean>,
): Promise<AdmittedItem | Ended> {
  const item = stages.read(asked)
  if (hasEnded(item)) return item
  const locked = await stages.lock(item)
  return hasEnded(locked) ? locked : stages.admit(locked, isIdentified)
}

/** Runs all stages of an item. */
export async function recordOne(stages: Stages, asked: AskedItem): Promise<Ended> {
  const admitted = await admitItem(stages, asked)
  return hasEnded(admitted) ? admitted : stages.publish(admitted)
}

/** Creates routes whose request is one record. */
export function createSingleRoute(stages: Stages) {
  return (signature: RouteSignature, kind: Kind): Route => ({
    ...signature,
    handle: (request) => {
      const { requestId: id, idempotency, body } = request
      return recordOne(stages, { outcome: 'asked', kind, request, id, idempotency, body })
    },
  })
}
