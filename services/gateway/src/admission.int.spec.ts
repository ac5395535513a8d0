import {
  type Claim,
  ClaimRequest,
  INTERNAL_ROUTES,
  ReleaseRequest,
  type Reservation,
  ReserveRequest,
} from '@nextvisit/contracts'
import { afterEach, describe, expect, it } from 'vitest'
import { type GatewayFixture, type GatewayFixtureOptions, startGateway } from './gateway-fixture.ts'
import { type OwnerAnswers, startOwner } from './owner-fixture.ts'

const { lookUpUsers, reserve, release, claim } = INTERNAL_ROUTES
const stops: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop()
})

async function owner(answers: OwnerAnswers) {
  const started = await startOwner(answers)
  stops.push(started.stop)
  return started
}

async function gatewayWith(options: GatewayFixtureOptions): Promise<GatewayFixture> {
  const started = await startGateway(options)
  stops.push(started.stop)
  return started
}

const everybodyExists = () => owner({ [lookUpUsers]: async ({ users }) => ({ exists: users.map(() => true) }) })

/** A registry as trait-registry keeps it, in memory. */
function registry(registered: readonly string[] = []) {
  const names = new Set(registered)
  const verdictFor = (one: Claim, slug: string) => {
    if (names.has(slug)) return 'registered'
    if (one.limit !== undefined && names.size >= one.limit) return 'no-room'
    names.add(slug)
    return 'new'
  }
  return owner({
    [claim]: async ({ claims }) => ({
      verdicts: claims.map((one) => one.slugs.map(({ slug }) => verdictFor(one, slug))),
    }),
  })
}

/** Metering as it grants: `room` reservations, released ones again. */
function meteringWith(room: number) {
  const granted = new Set<string>()
  const grant = ({ recordId }: Reservation) => {
    if (granted.size >= room) return 'exhausted'
    granted.add(recordId)
    return 'granted'
  }
  return owner({
    [reserve]: async ({ reservations }) => ({ verdicts: reservations.map(grant) }),
    [release]: async ({ recordIds }) => {
      for (const recordId of recordIds) granted.delete(recordId)
      return {}
    },
  })
}

const never = () => new Promise<never>(() => undefined)
const claimsIn = (calls: readonly { path: string; body: unknown }[]) =>
  calls.flatMap(({ path, body }) => (path === claim ? ClaimRequest.parse(body).claims : []))
const reservationsIn = (calls: readonly { path: string; body: unknown }[]) =>
  calls.flatMap(({ path, body }) => (path === reserve ? ReserveRequest.parse(body).reservations : []))
const releasedIn = (calls: readonly { path: string; body: unknown }[]) =>
  calls.flatMap(({ path, body }) => (path === release ? ReleaseRequest.parse(body).recordIds : []))
const statusesOf = (answers: readonly { status: number }[]) => answers.map(({ status }) => status)
const count = (values: readonly unknown[], value: unknown) => values.filter((one) => one === value).length

describe('user exists (decisions.md, Track event: 404)', () => {
  it('asks the user projector for a user without a marker, and refuses who does not exist', async () => {
    const projector = await owner({ [lookUpUsers]: async ({ users }) => ({ exists: users.map(() => false) }) })
    const gateway = await gatewayWith({ owners: { userProjector: projector.url } })
    const answer = await gateway.track({ userName: 'nobody', eventName: 'a' })
    expect(answer.body).toEqual({ status: 404, error: 'Not Found', message: 'User not found' })
    expect(await gateway.records()).toEqual([])
  })

  it('lets questions that wait share an answer, and remembers "no such user" for a moment', async () => {
    const projector = await owner({ [lookUpUsers]: async ({ users }) => ({ exists: users.map(() => false) }) })
    const gateway = await gatewayWith({ owners: { userProjector: projector.url } })
    const track = () => gateway.track({ userName: 'nobody', eventName: 'a' })
    const answers = await Promise.all(Array.from({ length: 50 }, track))
    expect(count(statusesOf(answers), 404)).toBe(50)
    expect(projector.calls.length).toBeLessThan(50)
    for (const { body } of projector.calls) expect(body).toMatchObject({ users: [{ project: 'shop' }] })
  })

  it('sees an identify on another gateway at once, although it remembers "no such user"', async () => {
    const projector = await owner({ [lookUpUsers]: async ({ users }) => ({ exists: users.map(() => false) }) })
    const gateway = await gatewayWith({ owners: { userProjector: projector.url } })
    const other = await gatewayWith({ besides: gateway })
    expect((await gateway.track({ userName: 'ada', eventName: 'a' })).status).toBe(404)
    expect((await other.identify({ userName: 'ada' })).status).toBe(200)
    expect((await gateway.track({ userName: 'ada', eventName: 'a' })).status).toBe(202)
  })

  it('finds users again by the projector after Redis was emptied', async () => {
    const projector = await everybodyExists()
    const gateway = await gatewayWith({ owners: { userProjector: projector.url } })
    await gateway.identify({ userName: 'ada' })
    const keys = await gateway.redis.keys(`${gateway.redisPrefix}*`)
    await gateway.redis.del(...keys)
    const other = await gatewayWith({ besides: gateway, owners: { userProjector: projector.url } })
    expect((await other.track({ userName: 'ada', eventName: 'a' })).status).toBe(202)
    expect(projector.calls).toHaveLength(1)
  })

  it('asks nobody for a user that it knows: no call in the steady state', async () => {
    const projector = await everybodyExists()
    const gateway = await gatewayWith({ owners: { userProjector: projector.url } })
    await gateway.identify({ userName: 'ada' })
    for (let i = 0; i < 5; i += 1) await gateway.track({ userName: 'ada', eventName: 'a' })
    expect(projector.calls).toEqual([])
  })
})

describe('new names (decisions.md, Track event: newEvent; design.md, Trait-registry)', () => {
  it('says newEvent in exactly one of many parallel responses', async () => {
    const names = await registry()
    const gateway = await gatewayWith({ owners: { traitRegistry: names.url } })
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

  it('remembers a name after an ack, and asks no more', async () => {
    const names = await registry()
    const gateway = await gatewayWith({ owners: { traitRegistry: names.url } })
    await gateway.identify({ userName: 'ada', userAttributes: { $set: { plan: 1 } } })
    await gateway.track({ userName: 'ada', eventName: 'a' })
    expect(names.calls).toHaveLength(2)
    await gateway.identify({ userName: 'ada', userAttributes: { $set: { plan: 2 } } })
    await gateway.track({ userName: 'ada', eventName: 'a' })
    expect(names.calls).toHaveLength(2)
  })

  it('admits exactly as many new events as there is room for, in P, and publishes nothing for the rest', async () => {
    const names = await registry()
    const gateway = await gatewayWith({ plan: { uniqueEvents: 5 }, owners: { traitRegistry: names.url } })
    await gateway.identify({ userName: 'ada' })
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) => gateway.track({ userName: 'ada', eventName: `event ${i}` })),
    )
    expect([count(statusesOf(answers), 202), count(statusesOf(answers), 400)]).toEqual([5, 25])
    const refused = answers.find(({ status }) => status === 400)
    expect(refused?.body['message']).toBe('Unique tracked events limit reached for your plan')
    expect((await gateway.records()).filter(({ fact }) => fact.type === 'EventTracked')).toHaveLength(5)
  })

  it('sends the cap for P only (decisions.md, Track event)', async () => {
    const names = await registry()
    const gateway = await gatewayWith({ plan: { uniqueEvents: 0 }, owners: { traitRegistry: names.url } })
    await gateway.identify({ userName: 'ada' })
    expect((await gateway.track({ userName: 'ada', eventName: 'a' }, gateway.keys.adminT)).status).toBe(202)
    expect((await gateway.track({ userName: 'ada', eventName: 'b' })).status).toBe(400)
    expect(claimsIn(names.calls).map(({ limit }) => limit)).toEqual([undefined, 0])
  })

  it('strips new traits over the cap from every operator, by name only (contract, Trait policy)', async () => {
    const names = await registry(['plan'])
    const gateway = await gatewayWith({ plan: { uniqueTraits: 2 }, owners: { traitRegistry: names.url } })
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
    expect(claimsIn(names.calls)[0]?.slugs.map(({ slug }) => slug)).toEqual(['b', 'a', 'plan'])
  })

  it('lets an SDK key bring in no new names where the project says so (decisions.md, SDK)', async () => {
    const names = await registry(['plan', 'known'])
    const project = { clientCreatedTraits: false, clientCreatedEvents: false }
    const gateway = await gatewayWith({ project, owners: { traitRegistry: names.url } })
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

  it('lets an SDK key bring in what the project declares, within the cap (docs/decisions, 7)', async () => {
    const names = await registry()
    const project = {
      clientCreatedTraits: false,
      clientCreatedEvents: false,
      traits: [{ slug: 'declared' }, { slug: 'over' }, { slug: 'off', enabled: false }],
      events: [{ slug: 'Signed In' }, { slug: 'Signed Out' }],
    }
    const plan = { uniqueTraits: 1, uniqueEvents: 2 }
    const gateway = await gatewayWith({ project, plan, owners: { traitRegistry: names.url } })
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

describe('limits (decisions.md, Track event: metering; Identify: MAU)', () => {
  it('lets exactly as many events pass as there is room for, and publishes nothing for the rest', async () => {
    const metering = await meteringWith(7)
    const gateway = await gatewayWith({ plan: { eventsPerMonth: 7 }, owners: { metering: metering.url } })
    await gateway.identify({ userName: 'ada' })
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => gateway.track({ userName: 'ada', eventName: 'a' })),
    )
    expect([count(statusesOf(answers), 202), count(statusesOf(answers), 402)]).toEqual([7, 33])
    expect(answers.find(({ status }) => status === 402)?.body).toEqual({
      status: 402,
      error: 'Payment Required',
      message: 'Event tracking limit reached for this organization',
    })
    expect((await gateway.records()).filter(({ fact }) => fact.type === 'EventTracked')).toHaveLength(7)
    expect(metering.calls.length).toBeLessThan(40)
  })

  it('asks nothing for a T key, and nothing where the plan has no limit', async () => {
    const metering = await meteringWith(0)
    const limited = await gatewayWith({ plan: { eventsPerMonth: 0 }, owners: { metering: metering.url } })
    const unlimited = await gatewayWith({ owners: { metering: metering.url } })
    await limited.identify({ userName: 'ada' })
    await unlimited.identify({ userName: 'ada' })
    expect((await limited.track({ userName: 'ada', eventName: 'a' }, limited.keys.adminT)).status).toBe(202)
    expect((await unlimited.track({ userName: 'ada', eventName: 'a' })).status).toBe(202)
    expect(metering.calls).toEqual([])
  })

  it('has released the reservation of an event that the cap refuses, once it answers', async () => {
    const [metering, names] = [await meteringWith(1), await registry()]
    const owners = { metering: metering.url, traitRegistry: names.url }
    const gateway = await gatewayWith({ plan: { eventsPerMonth: 1, uniqueEvents: 0 }, owners })
    await gateway.identify({ userName: 'ada' })
    const answer = await gateway.track({ userName: 'ada', eventName: 'a' })
    expect(answer.status).toBe(400)
    // At once: the caller's next request must find the room again.
    expect(releasedIn(metering.calls)).toEqual([answer.headers['x-request-id']])
  })

  it('judges in the decided order: user, disabled, metering, cap', async () => {
    const projector = await owner({ [lookUpUsers]: async ({ users }) => ({ exists: users.map(() => false) }) })
    const [metering, names] = [await meteringWith(0), await registry()]
    const gateway = await gatewayWith({
      plan: { eventsPerMonth: 0, uniqueEvents: 0 },
      project: { events: [{ slug: 'off', enabled: false }] },
      owners: { userProjector: projector.url, metering: metering.url, traitRegistry: names.url },
    })
    await gateway.identify({ userName: 'ada' })
    expect((await gateway.track({ userName: 'nobody', eventName: 'off' })).status).toBe(404)
    expect((await gateway.track({ userName: 'ada', eventName: 'off' })).status).toBe(400)
    expect(metering.calls).toEqual([])
    expect((await gateway.track({ userName: 'ada', eventName: 'new' })).status).toBe(402)
    expect(names.calls).toEqual([])
  })

  it('refuses users not yet counted once the MAU quota is exhausted; those counted go on', async () => {
    const metering = await meteringWith(2)
    const gateway = await gatewayWith({ plan: { monthlyActiveUsers: 2 }, owners: { metering: metering.url } })
    expect((await gateway.identify({ userName: 'a' })).status).toBe(200)
    expect((await gateway.visit({ userName: 'b' })).status).toBe(200)
    const refused = await gateway.identify({ userName: 'c' })
    expect(refused.body).toMatchObject({ status: 400, message: 'Monthly active users limit reached for your plan' })
    const asked = metering.calls.length
    expect((await gateway.identify({ userName: 'a' })).status).toBe(200)
    expect(metering.calls).toHaveLength(asked)
    expect(reservationsIn(metering.calls)[0]).toMatchObject({
      kind: 'mau',
      limit: 2,
      month: expect.stringMatching(/^\d{4}-\d\d$/),
    })
    expect(
      (await gateway.records()).some(({ fact }) => fact.type === 'IdentifyRequested' && fact.userName === 'c'),
    ).toBe(false)
  })

  it('counts a user for whom metering says so without a reservation', async () => {
    const metering = await owner({
      [reserve]: async ({ reservations }) => ({ verdicts: reservations.map(() => 'counted') }),
    })
    const gateway = await gatewayWith({ plan: { monthlyActiveUsers: 0 }, owners: { metering: metering.url } })
    expect((await gateway.identify({ userName: 'a' })).status).toBe(200)
  })
})

describe('an owner that is away (decisions.md, Busy and broken: unchecked)', () => {
  it('is not waited for beyond the budget; the record says what was not checked', async () => {
    const silent = await owner({ [lookUpUsers]: never, [reserve]: never, [claim]: never })
    const gateway = await gatewayWith({
      plan: { eventsPerMonth: 1, monthlyActiveUsers: 1, uniqueEvents: 1 },
      owners: { userProjector: silent.url, metering: silent.url, traitRegistry: silent.url },
    })
    const tracked = await gateway.track({ userName: 'ada', eventName: 'a' })
    const identified = await gateway.identify({ userName: 'ada', userAttributes: { $set: { plan: 1 } } })
    expect(statusesOf([tracked, identified])).toEqual([202, 200])
    expect(tracked.body).toMatchObject({ newEvent: false })
    const facts = (await gateway.records()).map(({ fact }) => fact)
    const factOf = (id: unknown) => facts.find((fact) => fact.id === id)
    expect(factOf(tracked.body['requestId'])).toMatchObject({ unchecked: ['user', 'event-limit', 'event-name'] })
    expect(factOf(identified.headers['x-request-id'])).toMatchObject({ unchecked: ['mau', 'traits'] })
    expect(await gateway.unchecked()).toEqual({ user: 1, 'event-limit': 1, 'event-name': 1, mau: 1, traits: 1 })
  })

  it('is asked only now and then once it has failed a few times', async () => {
    let asked = 0
    const broken = await owner({
      [reserve]: async () => {
        asked += 1
        throw new Error('broken')
      },
    })
    const gateway = await gatewayWith({ plan: { eventsPerMonth: 1 }, owners: { metering: broken.url } })
    await gateway.identify({ userName: 'ada' })
    for (let i = 0; i < 30; i += 1) expect((await gateway.track({ userName: 'ada', eventName: 'a' })).status).toBe(202)
    expect(asked).toBeLessThan(30)
  })

  it('says one thing too few: that is as good as no answer', async () => {
    const metering = await owner({ [reserve]: async () => ({ verdicts: [] }) })
    const gateway = await gatewayWith({ plan: { eventsPerMonth: 1 }, owners: { metering: metering.url } })
    await gateway.identify({ userName: 'ada' })
    const answer = await gateway.track({ userName: 'ada', eventName: 'a' })
    const record = (await gateway.records()).find(({ fact }) => fact.id === answer.body['requestId'])
    expect(record?.fact).toMatchObject({ unchecked: expect.arrayContaining(['event-limit']) })
  })
})
