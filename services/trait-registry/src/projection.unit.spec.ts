import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { evolveDraft } from '@nextvisit/consumer'
import { identifyRequested } from '@nextvisit/contracts/fixtures'
import type { IdentifyRequested } from '@nextvisit/contracts'
import { expect, it } from 'vitest'
import { createProjection } from './projection.ts'

const set = Object.fromEntries(Array.from({ length: 250 }, (_, at) => [`trait_${at}`, 1]))
const at = (second: number) => `2026-11-02T10:00:0${second}.000Z`
const recorded = (facts: readonly IdentifyRequested[]) =>
  facts.map((fact, offset) => ({ fact, topic: 'user-events', partition: 0, offset: BigInt(offset), timestampMs: 0 }))
const context = { catalog: staticCatalog([]), mode: 'live' } as const

it('a batch keeps and writes one row a name, however many records carry it', () => {
  const projection = createProjection({ countKeyPartitions: async () => 1 })
  const facts = Array.from({ length: 100 }, () => identifyRequested({ operations: { set } }))
  const draft = evolveDraft(projection, new Map(), recorded(facts), context)
  expect(draft.size).toBe(250)
  expect([...draft.values()].every(({ count }) => count === 100)).toBe(true)
  const lengths = projection
    .save(draft)
    .statements.flatMap(({ values }) => values.flatMap((value) => (Array.isArray(value) ? value.length : [])))
  expect(new Set(lengths)).toEqual(new Set([250]))
})

it("a batch keeps the definition of a name's earliest record, in any order", () => {
  const projection = createProjection({ countKeyPartitions: async () => 1 })
  const records = recorded(
    [3, 1, 2].map((second) =>
      identifyRequested({
        received: at(second),
        operations: { set: { plan: 1 } },
        registeredTraits: second === 2 ? ['plan'] : [],
      }),
    ),
  )
  const draft = evolveDraft(projection, new Map(), records, context)
  const [, earliest, registering] = records.map(({ fact }) => fact.id)
  expect([...draft.values()]).toMatchObject([
    { count: 3, firstSeenAt: at(1), firstRecordId: earliest, lastSeenAt: at(3), registeredBy: registering },
  ])
})
