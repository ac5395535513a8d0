import type { EventTracked, IdentifyRequested } from '@nextvisit/contracts'
import {
  identityOfLine,
  type ImportedFact,
  importedFact,
  importedRecordId,
  type ImportPolicy,
  parseImportLine,
} from '@nextvisit/domain'
import type { KnownUsers } from './known-users.ts'
import { createOrdinals } from './ordinals.ts'
import type { Line } from './read-lines.ts'

export type JudgedLine = { readonly line: Line } & (
  | {
      readonly outcome: 'record'
      readonly fact: IdentifyRequested | EventTracked
      /** Set for an event of a user that no earlier line has identified. */
      readonly isOfUnknown: boolean
    }
  /** An earlier line has the same id. */
  | { readonly outcome: 'repeat' }
  | { readonly outcome: 'rejected'; readonly message: string }
)

/** Checks one line after the other; the result depends on earlier lines. `now` is called once per line, for `received`. */
export type JudgeLine = (line: Line, now: Date) => JudgedLine

export function createJudge(policy: ImportPolicy, users: Pick<KnownUsers, 'add' | 'has'>): JudgeLine {
  const ordinalOf = createOrdinals()
  return (line, now) => {
    const parsed = parseImportLine(line.bytes, now.getTime())
    if (parsed.outcome === 'rejected') return { ...parsed, line }
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
