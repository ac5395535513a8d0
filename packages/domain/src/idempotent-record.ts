import { type AnyUserFact, type Environment, isRequestFact, type KeyKind } from '@nextvisit/contracts'
import { projectNamespace, uuidV5 } from './ids.ts'

/** The parts of a request with an `Idempotency-Key` that determine its record's id. */
interface KeyedRequestParts {
  readonly organization: string
  readonly project: string
  /** Kind and environment of the API key: each has its own namespace. */
  readonly kind: KeyKind
  readonly environment: Environment
  /** The route's pattern. */
  readonly route: string
  /** Visible ASCII, and at most one space. */
  readonly key: string
  /** Hex. */
  readonly bodySha256: string
}

/**
 * Returns the id of a keyed request's record: the same for a repeat on any gateway, and different if any part differs
 * (decisions.md, Retries). Only the key may contain a space.
 */
export function keyedRecordId(parts: KeyedRequestParts): string {
  const { organization, project, kind, environment, route, key, bodySha256 } = parts
  return uuidV5(`${kind} ${environment} ${route} ${key} ${bodySha256}`, projectNamespace(organization, project))
}

/**
 * Returns the id and the time of receipt (ms since the epoch) by which duplicates of a fact are recognized. undefined: it
 * can have none, since its request had no `Idempotency-Key` (decisions.md, Retries) and it was not imported. Imported facts
 * are remembered forever (`Infinity`), because a file can be imported again years later (decisions.md, Import). So are erasures:
 * a restored eraser publishes them again, and a later copy must not erase a user who has returned.
 */
export function idempotentRecordOf(
  fact: AnyUserFact,
): { readonly id: string; readonly receivedMs: number } | undefined {
  if (fact.type === 'UserErased') return { id: fact.id, receivedMs: Number.POSITIVE_INFINITY }
  if (!isRequestFact(fact)) return undefined
  if ('imported' in fact && fact.imported) return { id: fact.id, receivedMs: Number.POSITIVE_INFINITY }
  return fact.keyed ? { id: fact.id, receivedMs: Date.parse(fact.received) } : undefined
}
