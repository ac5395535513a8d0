import { createHash } from 'node:crypto'
import type { PropertyCondition } from '@nextvisit/contracts'
import { canonicalJson } from '../canonical-json.ts'

/** Part of every hash. Raise it when the same `where` gets another meaning: counting then starts again under another key. */
const MEANING = 1

/** Returns a hash that is equal for equal conditions, whatever the order of their members. */
export function whereHashOf(where: PropertyCondition): string {
  return createHash('sha256')
    .update(canonicalJson([MEANING, where]))
    .digest('hex')
    .slice(0, 16)
}
