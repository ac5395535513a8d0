import type { IdentifyRequested } from '@nextvisit/contracts'
import type { AskedFacts } from '@nextvisit/domain'

/** An identify without the traits and device facts that no form asks about. */
export function askedOf(fact: IdentifyRequested, { traits, deviceFields }: AskedFacts): IdentifyRequested {
  const { set = {}, setOnce = {}, increment = {}, decrement = {}, unset = [] } = fact.operations
  return {
    ...fact,
    operations: {
      set: only(set, traits),
      setOnce: only(setOnce, traits),
      increment: only(increment, traits),
      decrement: only(decrement, traits),
      unset: unset.filter((slug) => traits.has(slug)),
    },
    device: only(fact.device, deviceFields),
  }
}

function only<Members extends object>(members: Members, wanted: ReadonlySet<string>): Members {
  return Object.fromEntries(Object.entries(members).filter(([key]) => wanted.has(key))) as Members
}
