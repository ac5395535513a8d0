import { expect, it } from 'vitest'
import type { FormFact } from './facts.ts'
import { splitAtOutbox } from './fold-decisions.ts'

const published = (partition: number, id: string) => ({ partition, fact: { id } as FormFact })
const idsOf = (all: readonly { readonly fact: { readonly id: string } }[]) => all.map(({ fact }) => fact.id)

it('the fold of decisions takes later records before the outbox, up to the first of its rows in each partition', () => {
  const later = [published(0, 'a'), published(0, 'b'), published(1, 'x'), published(0, 'c'), published(1, 'y')]
  const { before, rest } = splitAtOutbox(later, [{ id: 'b' }, { id: 'z' }])
  expect(idsOf(before)).toEqual(['a', 'x', 'y'])
  expect(idsOf(rest)).toEqual(['b', 'c'])
})

it('the fold of decisions takes all records before an unpublished outbox', () => {
  expect(splitAtOutbox([published(0, 'a')], [{ id: 'b' }]).rest).toEqual([])
})
