import { eventTracked, identifyRequested, visit, visitAnswered } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { queuedIdOf } from '@nextvisit/domain'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { at, contextOf, MINUTE, nps, SECOND } from '../test/evaluator-fixtures.ts'
import { type GivenEvaluator, givenEvaluator } from '../test/given-evaluator.ts'

let given: GivenEvaluator
beforeAll(async () => {
  given = await givenEvaluator(inject('databaseUrl'))
})
afterAll(() => given?.stop())
beforeEach(async () => {
  await given.clear()
  given.takeSteps()
})

describe('a step of a form is counted', () => {
  const pro = { ...nps, id: 'pro', audience: { trait: 'plan', is: 'pro' } }
  const context = contextOf([{ ...nps, expiresAfter: '1h' }, pro])
  const tracked = eventTracked({ received: at(0) })

  it('for each decision: queued, or the gate that stopped the form', async () => {
    await given.fold(context, identifyRequested(), tracked)
    expect(given.takeSteps()).toEqual(['acme/shop/nps queued', 'acme/shop/pro not-in-audience'])
    await given.fold(context, eventTracked({ received: at(SECOND) }))
    expect(given.takeSteps()).toEqual(['acme/shop/nps repeat-exhausted', 'acme/shop/pro not-in-audience'])
  })

  it('once where two visits confirm the same form', async () => {
    const visits = [visit({ received: at(SECOND) }), visit({ received: at(2 * SECOND) })]
    await given.fold(context, identifyRequested(), tracked, ...visits)
    expect(given.takeSteps()).toContain('acme/shop/nps offered')
    const queuedId = queuedIdOf(tracked.id, tracked.received, 'nps')
    const answers = visits.map(({ id: visitId, received }) =>
      visitAnswered({ visitId, queuedId, formId: 'nps', received }),
    )
    await given.fold(context, ...answers)
    expect(given.takeSteps()).toEqual(['acme/shop/nps delivered'])
  })

  it('for a tick once its rows are committed', async () => {
    await given.fold(context, identifyRequested(), tracked)
    given.takeSteps()
    await given.prisma.$executeRaw(sql`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$`)
    await given.prisma.$executeRaw(sql`
      CREATE TRIGGER refuse BEFORE UPDATE ON queue EXECUTE FUNCTION refuse()`)
    await expect(given.tick(context, 61 * MINUTE)).rejects.toThrow('Nothing was written')
    expect(given.takeSteps()).toEqual([])
    await given.prisma.$executeRaw(sql`DROP TRIGGER refuse ON queue`)
    await given.tick(context, 61 * MINUTE)
    expect(given.takeSteps()).toEqual(['acme/shop/nps expired'])
  })

  it('for a record that is folded twice: queued once, stopped each time', async () => {
    await given.fold(context, identifyRequested(), tracked)
    given.takeSteps()
    await given.fold(context, tracked)
    expect(given.takeSteps()).toEqual(['acme/shop/pro not-in-audience'])
  })
})
