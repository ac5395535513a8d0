import { createHash } from 'node:crypto'
import type { PropertyCondition } from '@nextvisit/contracts'

/** Part of every hash. Raise it when the same `where` gets another meaning: counting then starts again under another key. */
const MEANING = 1

/** Returns a hash that is equal for equal conditions, whatever the order of their members. */
export function whereHashOf(where: PropertyCondition): string {
  return createHash('sha256')
    .update(canonicalJson([MEANING, where]))
    .digest('hex')
    .slice(0, 16)
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : member,
  )
}
