import type { ErasureFact } from '@nextvisit/contracts'
import type { ErasureView } from '../src/erasure-view.ts'
import { createErasureFold } from '../src/fold-erasures.ts'

/** Returns a view of these erasures, which is current at any time. */
export function givenErasures(facts: readonly ErasureFact[] = []): ErasureView {
  const { fold, ...erasures } = createErasureFold()
  for (const [offset, fact] of facts.entries()) fold(fact, BigInt(offset))
  return { ...erasures, currentAsOfMs: () => performance.now(), skipped: () => 0, passes: async () => true }
}
