import type { IdentifyRequested } from '@nextvisit/contracts'
import type { AskedFacts } from '@nextvisit/domain'

/**
 * Returns an identify without facts that no form uses. If a form uses one trait, all traits are kept, because limits on the
 * user's traits may drop an operation on it (decisions.md, Identify).
 */
export function keepAskedFacts(fact: IdentifyRequested, { traits, deviceFields }: AskedFacts): IdentifyRequested {
  return {
    ...fact,
    operations: traits.size > 0 ? fact.operations : {},
    device: only(fact.device, deviceFields),
  }
}

function only<Members extends object>(members: Members, wanted: ReadonlySet<string>): Members {
  return Object.fromEntries(Object.entries(members).filter(([key]) => wanted.has(key))) as Members
}
