import type { Environment, KeyKind, UserFact } from '@nextvisit/contracts'
import { projectNamespace, uuidV5 } from './ids.ts'

/** A request with an `Idempotency-Key`, as far as its record's id depends on it. */
export interface KeyedRequestParts {
  readonly organization: string
  readonly project: string
  /** Of the API key: each kind and each environment has a namespace of its own. */
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
 * The id of a keyed request's record: the same for a repeat, on any gateway, and another for another project, kind or
 * environment of the API key, route, key or body (decisions.md, Retries). Only the key may hold a space.
 */
export function keyedRecordId(parts: KeyedRequestParts): string {
  const { organization, project, kind, environment, route, key, bodySha256 } = parts
  return uuidV5(`${kind} ${environment} ${route} ${key} ${bodySha256}`, projectNamespace(organization, project))
}

/**
 * What a duplicate of a fact is recognized by: its id and when it was received, ms since the epoch. Only facts whose
 * request had an `Idempotency-Key` (decisions.md, Retries) and imported facts can have duplicates. Imported facts are kept
 * for ever (`Infinity`), since a file can be imported again years later (decisions.md, Import).
 */
export function idempotentRecordOf(fact: UserFact): { readonly id: string; readonly receivedMs: number } | undefined {
  if (fact.type === 'VisitAnswered') return undefined
  if (fact.imported) return { id: fact.id, receivedMs: Number.POSITIVE_INFINITY }
  return fact.keyed ? { id: fact.id, receivedMs: Date.parse(fact.received) } : undefined
}
