import type { ActivityFact } from '@nextvisit/contracts'
import {
  identityOfLine,
  type ImportedFact,
  importedFact,
  importedRecordId,
  type ParsedImportLine,
  type ProjectPolicy,
} from '@nextvisit/domain'
import type { KnownUsers } from './known-users.ts'
import type { Line } from './read-lines.ts'
import { createShards } from './shards.ts'

/** A line by the rules of its format. */
export type ParsedLine =
  | ParsedImportLine
  /** The line becomes no record of its own. */
  | { readonly outcome: 'no-record' }

export type JudgedLine = { readonly line: Line } & (
  | {
      readonly outcome: 'record'
      readonly fact: ActivityFact
      /** Set for an event of a user that no earlier line has identified. */
      readonly isOfUnknown: boolean
    }
  /** An earlier line has the same id. */
  | { readonly outcome: 'repeat' }
  | { readonly outcome: 'no-record' }
  | { readonly outcome: 'rejected'; readonly message: string }
)

/** Creates a judge of the parsed lines of one import. The result of a line depends on earlier lines. `now` becomes `received`. */
export function createJudge(
  policy: ProjectPolicy,
  users: Pick<KnownUsers, 'add' | 'has'>,
): (line: Line, parsed: ParsedLine, now: Date) => JudgedLine {
  const ordinalOf = createOrdinals()
  return (line, parsed, now) => {
    if (parsed.outcome !== 'ok') return { ...parsed, line }
    const identity = identityOfLine(parsed.line)
    let isRepeat = false
    const made: ImportedFact = importedFact(parsed.line, policy, {
      received: now.toISOString(),
      recordId: () => {
        const ordinal = ordinalOf(identity)
        isRepeat = ordinal > 0 && parsed.line.id !== undefined
        return importedRecordId(policy, identity, ordinal)
      },
    })
    if (made.outcome === 'rejected') return { ...made, line }
    if (isRepeat) return { outcome: 'repeat', line }
    const { fact } = made
    if (fact.type === 'IdentifyRequested') users.add(fact.userId)
    return { outcome: 'record', line, fact, isOfUnknown: !users.has(fact.userId) }
  }
}

/** Counts earlier occurrences of each identity (hex). Uses about 100 bytes of memory per identity. */
function createOrdinals(): (identity: string) => number {
  const mapOf = createShards(() => new Map<string, number>())
  return (identity) => {
    const map = mapOf(identity)
    // 120 bits are enough to distinguish lines, in 15 bytes of memory.
    const key = Buffer.from(identity.slice(2, 32), 'hex').toString('latin1')
    const ordinal = map.get(key) ?? 0
    map.set(key, ordinal + 1)
    return ordinal
  }
}
