import { MAX_DISABLED_TRAIT_BYTES, NAME_CAPS } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { givenGateway } from '../../test/given-gateway.ts'
import { claimsIn, givenRegistry } from '../../test/given-services.ts'

const statusesOf = (answers: readonly { status: number }[]) => answers.map(({ status }) => status)
const count = (values: readonly unknown[], value: unknown) => values.filter((one) => one === value).length

describe('admission of new names (decisions.md, Track event: newEvent; design.md, Trait registry)', () => {
  it('answers newEvent in exactly one of many parallel responses', async () => {
    const names = await givenRegistry()
    const gateway = await givenGateway({ services: { 'trait-registry': names.url } })
    await gateway.identify({ userName: 'ada' })
    const spellings = ['Checkout Completed', 'checkout_completed', 'CHECKOUT  completed']
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => gateway.track({ userName: 'ada', eventName: spellings[i % 3] })),
    )
    expect(
      count(
        answers.map(({ body }) => body['newEvent']),
        true,
      ),
    ).toBe(1)
    const facts = (await gateway.records()).map(({ fact }) => fact).filter((fact) => fact.type === 'EventTracked')
    expect(
      count(
        facts.map(({ newEvent }) => newEvent),
        true,
      ),
    ).toBe(1)
    expect(facts.flatMap(({ unchecked }) => unchecked)).toEqual([])
    expect(names.calls.length).toBeLessThan(60)
  })

  it('caches a name after an ack', async () => {
    const names = await givenRegistry()
    const gateway = await givenGateway({ services: { 'trait-registry': names.url } })
    await gateway.identify({ userName: 'ada', userAttributes: { $set: { plan: 1 } } })
    await gateway.track({ userName: 'ada', eventName: 'a' })
    expect(names.calls).toHaveLength(2)
    await gateway.identify({ userName: 'ada', userAttributes: { $set: { plan: 2 } } })
    await gateway.track({ userName: 'ada', eventName: 'a' })
    expect(names.calls).toHaveLength(2)
  })

  it('caches of an identify with an Idempotency-Key only registered slugs, since it may be a duplicate with other slugs', async () => {
    const names = await givenRegistry(['plan'])
    const gateway = await givenGateway({ services: { 'trait-registry': names.url } })
    const visit = (key: string) =>
      gateway.call(
        'POST',
        '/v2/sdk/identify-user',
        { 'content-type': 'application/json', 'x-api-key': gateway.keys.sdk, 'idempotency-key': key },
        '{"userName":"ada","userAttributes":{"$set":{"plan":"pro","fresh":1}},"repeatMayDiffer":true}',
      )
    for (const key of ['a', 'b', 'c']) expect((await visit(key)).status).toBe(200)
    expect(claimsIn(names.calls).map(({ slugs }) => slugs)).toEqual([['plan', 'fresh'], ['fresh']])
  })

  it('admits exactly as many new events as there is room for, in P, and publishes nothing of the rest', async () => {
    const names = await givenRegistry()
    const gateway = await givenGateway({ plan: { uniqueEvents: 5 }, services: { 'trait-registry': names.url } })
    await gateway.identify({ userName: 'ada' })
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) => gateway.track({ userName: 'ada', eventName: `event ${i}` })),
    )
    expect([count(statusesOf(answers), 202), count(statusesOf(answers), 400)]).toEqual([5, 25])
    const refused = answers.find(({ status }) => status === 400)
    expect(refused?.body['message']).toBe('Unique tracked events limit reached for your plan')
    expect((await gateway.records()).filter(({ fact }) => fact.type === 'EventTracked')).toHaveLength(5)
  })

  it('sends the plan’s cap for P only, and the bound of every project for T (decisions.md, Track event, Bounds)', async () => {
    const names = await givenRegistry()
    const gateway = await givenGateway({ plan: { uniqueEvents: 0 }, services: { 'trait-registry': names.url } })
    await gateway.identify({ userName: 'ada' })
    expect((await gateway.track({ userName: 'ada', eventName: 'a' }, gateway.keys.adminT)).status).toBe(202)
    expect((await gateway.track({ userName: 'ada', eventName: 'b' })).status).toBe(400)
    expect(claimsIn(names.calls).map(({ limit }) => limit)).toEqual([NAME_CAPS.event.bound, 0])
  })

  it('holds every project to its bounds under any plan (decisions.md, Bounds)', async () => {
    const names = await givenRegistry()
    const plan = { uniqueEvents: 1_000_000, uniqueTraits: 1_000_000 }
    const generous = await givenGateway({ plan, services: { 'trait-registry': names.url } })
    const unlimited = await givenGateway({ services: { 'trait-registry': names.url } })
    for (const { identify, track, keys } of [generous, unlimited])
      for (const key of [keys.admin, keys.adminT]) {
        await identify({ userName: 'ada', userAttributes: { $set: { [key]: 1 } } }, key)
        await track({ userName: 'ada', eventName: key }, key)
      }
    const limitsOf = (kind: string) => claimsIn(names.calls).flatMap((one) => (one.kind === kind ? [one.limit] : []))
    expect(limitsOf('trait')).toEqual([5_000, 5_000, 5_000, 5_000])
    expect(limitsOf('event')).toEqual([10_000, 10_000, 10_000, 10_000])
  })

  it('asks about new traits even if a project disables as many as `apply` accepts (decisions.md, Bounds)', async () => {
    const names = await givenRegistry()
    // Each takes 100 bytes of the JSON, including the comma.
    const length = Math.floor(MAX_DISABLED_TRAIT_BYTES / 100)
    const traits = Array.from({ length }, (_, nth) => ({ slug: `${nth}`.padEnd(97, 'x'), enabled: false }))
    const gateway = await givenGateway({ project: { traits }, services: { 'trait-registry': names.url } })
    const slugs = Array.from({ length: 250 }, (_, nth) => `${nth} `.padEnd(100, 'ü'))
    const $set = Object.fromEntries(slugs.map((slug) => [slug, 1]))
    expect((await gateway.identify({ userName: 'ada', userAttributes: { $set } })).status).toBe(200)
    expect((await gateway.records())[0]?.fact).toMatchObject({ registeredTraits: slugs, unchecked: [] })
  })

  it('strips new traits over the cap from every operator, by name only (contract, Trait policy)', async () => {
    const names = await givenRegistry(['plan'])
    const gateway = await givenGateway({ plan: { uniqueTraits: 2 }, services: { 'trait-registry': names.url } })
    const answer = await gateway.call(
      'POST',
      '/v2/admin/identify-user',
      { 'content-type': 'application/json', 'x-api-key': gateway.keys.admin },
      '{"userName":"ada","userAttributes":{"$setOnce":{"b":"x"},"$set":{"a":"canary","plan":"pro","email":"e"},"$increment":{"a":1},"$unset":["a","zzz"]}}',
    )
    expect(answer.status).toBe(200)
    const [record] = await gateway.records()
    expect(record?.fact).toMatchObject({
      operations: { setOnce: { b: 'x' }, set: { plan: 'pro', email: 'e' }, unset: ['zzz'] },
      registeredTraits: ['b'],
      strippedTraits: ['a'],
    })
    expect(JSON.stringify(record)).not.toContain('canary')
    expect(claimsIn(names.calls)[0]?.slugs).toEqual(['b', 'a', 'plan'])
  })

  it('refuses new names of an SDK key if the project does not allow them (decisions.md, Beyond the document)', async () => {
    const names = await givenRegistry(['plan', 'known'])
    const project = { clientCreatedTraits: false, clientCreatedEvents: false }
    const gateway = await givenGateway({ project, services: { 'trait-registry': names.url } })
    await gateway.visit({ userName: 'ada', userAttributes: { $set: { plan: 1, fresh: 1 } } })
    const sdkTrack = (eventName: string) =>
      gateway.post('/v2/sdk/track-event', { userName: 'ada', eventName }, gateway.keys.sdk)
    expect((await sdkTrack('known')).status).toBe(202)
    expect((await sdkTrack('unheard of')).status).toBe(400)
    expect((await gateway.track({ userName: 'ada', eventName: 'unheard of' })).body).toMatchObject({ newEvent: true })
    expect((await gateway.records())[0]?.fact).toMatchObject({
      strippedTraits: ['fresh'],
      operations: { set: { plan: 1 } },
    })
  })

  it('admits declared names of an SDK key, within the cap (decision 0007)', async () => {
    const names = await givenRegistry()
    const project = {
      clientCreatedTraits: false,
      clientCreatedEvents: false,
      traits: [{ slug: 'declared' }, { slug: 'over' }, { slug: 'off', enabled: false }],
      events: [{ slug: 'Signed In' }, { slug: 'Signed Out' }],
    }
    const plan = { uniqueTraits: 1, uniqueEvents: 2 }
    const gateway = await givenGateway({ project, plan, services: { 'trait-registry': names.url } })
    await gateway.visit({ userName: 'ada', userAttributes: { $set: { declared: 1, fresh: 1, over: 1, off: 1 } } })
    const sdkTrack = (eventName: string) =>
      gateway.post('/v2/sdk/track-event', { userName: 'ada', eventName }, gateway.keys.sdk)
    expect((await sdkTrack('signed_in')).body).toMatchObject({ newEvent: true })
    expect((await sdkTrack('unheard of')).status).toBe(400)
    expect((await sdkTrack('Signed Out')).body).toMatchObject({
      status: 400,
      message: 'Unique tracked events limit reached for your plan',
    })
    expect((await gateway.records())[0]?.fact).toMatchObject({
      operations: { set: { declared: 1 } },
      registeredTraits: ['declared'],
      strippedTraits: ['over', 'fresh'],
      droppedTraits: ['off'],
    })
  })
})
