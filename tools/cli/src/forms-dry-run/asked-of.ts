import type { IdentifyRequested } from '@nextvisit/contracts'
import type { AskedFacts } from '@nextvisit/domain'

/**
 * An identify without what no form asks about. Where a form asks about one trait, all are kept: whether an operation on it
 * is dropped depends on what else the user has (decisions.md, Identify).
 */
export function askedOf(fact: IdentifyRequested, { traits, deviceFields }: AskedFacts): IdentifyRequested {
  return {
    ...fact,
    operations: traits.size > 0 ? fact.operations : {},
    device: only(fact.device, deviceFields),
  }
}

function only<Members extends object>(members: Members, wanted: ReadonlySet<string>): Members {
  return Object.fromEntries(Object.entries(members).filter(([key]) => wanted.has(key))) as Members
}
