import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { expect, it } from 'vitest'
import { type Evolve, evolveDraft, type Recorded } from './projection.ts'

type Fact = { readonly type: 'Opened'; readonly by: string } | { readonly type: 'Closed' }

const context = { catalog: staticCatalog([]), mode: 'live' } as const
const place = { topic: 'doors', partition: 0, offset: 0n, timestampMs: 0 }
const recorded = (fact: Fact): Recorded<Fact> => ({ fact, ...place })

it('evolveDraft folds each record by its type, in order, and ignores types that are `ignored`', () => {
  const evolve: Evolve<Fact, string[]> = { Opened: (draft, { fact }) => void draft.push(fact.by), Closed: 'ignored' }
  const records = [
    recorded({ type: 'Opened', by: 'ada' }),
    recorded({ type: 'Closed' }),
    recorded({ type: 'Opened', by: 'bob' }),
  ]
  expect(evolveDraft({ evolve }, [], records, context)).toEqual(['ada', 'bob'])
})

it('a table of fold functions does not compile while a type has no line', () => {
  // @ts-expect-error: nothing is said of `Closed`.
  const evolve: Evolve<Fact, string[]> = { Opened: 'ignored' }
  expect(Object.keys(evolve)).toEqual(['Opened'])
})
