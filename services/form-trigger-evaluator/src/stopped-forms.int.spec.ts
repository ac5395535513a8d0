import { eventTracked, identifyRequested } from '@nextvisit/contracts/fixtures'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { at, contextOf, nps, SECOND } from '../test/evaluator-fixtures.ts'
import { type GivenEvaluator, givenEvaluator } from '../test/given-evaluator.ts'

let given: GivenEvaluator
beforeAll(async () => {
  given = await givenEvaluator(inject('databaseUrl'))
})
afterAll(() => given?.stop())
beforeEach(async () => {
  await given.clear()
  given.takeStopped()
})

describe('a gate that stops a form is counted', () => {
  const context = contextOf([nps, { ...nps, id: 'pro', audience: { trait: 'plan', is: 'pro' } }])
  const tracked = eventTracked({ received: at(0) })

  it('for each decision that queues nothing', async () => {
    await given.fold(context, identifyRequested(), tracked)
    expect(given.takeStopped()).toEqual(['acme/shop/pro not-in-audience'])
    await given.fold(context, eventTracked({ received: at(SECOND) }))
    expect(given.takeStopped()).toEqual(['acme/shop/nps repeat-exhausted', 'acme/shop/pro not-in-audience'])
  })

  it('again for a record that is folded twice', async () => {
    await given.fold(context, identifyRequested(), tracked)
    given.takeStopped()
    await given.fold(context, tracked)
    expect(given.takeStopped()).toEqual(['acme/shop/pro not-in-audience'])
  })
})
