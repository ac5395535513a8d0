import { userKey } from './facts.ts'
import type { Findings } from './findings.ts'
import type { Model } from './model.ts'
import { slugsOf } from './operate.ts'

/** Creates the model of `traits` in the records of identifies: the clear list has exactly the slugs of the sealed operations. */
export function createTraitsModel(findings: Findings): Model {
  return {
    foldUser: (fact) => {
      if (fact.type !== 'IdentifyRequested') return
      const slugs = slugsOf(fact.operations)
      if (slugs.size === fact.traits.length && fact.traits.every((slug) => slugs.has(slug))) return
      findings.add('user-events: traits', `${userKey(fact)} record ${fact.id}`, 'are not those of its operations')
    },
  }
}
