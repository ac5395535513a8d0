import { randomUUID } from 'node:crypto'
import type { ErasureFact, UserLookedUp } from '@nextvisit/contracts'
import { keyTimeMs, userIdOf } from '@nextvisit/domain'
import { createDataKey } from '@nextvisit/sealing'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { createFaultProxy, type FaultProxy, produceApiKey, until } from '@nextvisit/testing'
import { createErasureFold } from '@nextvisit/user-keys'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import type { GatewayFixture } from '../../test/gateway-fixture.ts'
import { givenGateway, givenService } from '../../test/given-gateway.ts'
import { givenMetering, givenRegistry, releasedIn, reservationsIn } from '../../test/given-services.ts'
import { REQUEST_BUDGET_MS } from '../http/request-budget.ts'

const [OLD, NEW] = ['ab'.repeat(32), 'cd'.repeat(32)] as const
const properties = { total: 1 }

const adaOf = ({ config }: GatewayFixture) => userIdOf(config.id, 'shop', 'ada')
const markerOf = (gateway: GatewayFixture) => `${gateway.redisPrefix}user:${adaOf(gateway)}`
const track = (gateway: GatewayFixture, body: object = { properties }) =>
  gateway.track({ userName: 'ada', eventName: 'a', ...body })
const statusesOf = (answers: readonly { readonly status: number }[]) => answers.map(({ status }) => status)
/** Ids of the keys that seal the records of the topic, in their order. */
const usedKeysIn = async (gateway: GatewayFixture) =>
  (await gateway.records()).map(({ text }) => (JSON.parse(text) as { sealed?: { key: string } }).sealed?.key)

/** An identify of a user, and four events. */
const itemsOf = (userName: string) => [
  { type: 'identify', userName },
  ...Array.from({ length: 4 }, () => ({ type: 'track', userName, eventName: 'a', properties })),
]

/** Starts a projector that gives each user this answer. */
const givenProjector = (answer: () => UserLookedUp) =>
  givenService({ lookUpUsers: async ({ questions }) => ({ answers: questions.map(answer) }) })

describe('the data key of a user (decision 18, Keys)', () => {
  it('is created with the first record, in the partition of the user, and used by all later ones', async () => {
    const gateway = await givenGateway({})
    expect((await gateway.identify({ userName: 'ada' })).status).toBe(200)
    for (let i = 0; i < 3; i += 1) expect((await track(gateway)).status).toBe(202)
    const [key, ...others] = await gateway.userKeys()
    expect(others).toEqual([])
    const [record] = await gateway.records()
    expect(key).toMatchObject({ userId: adaOf(gateway), partition: record?.partition })
    expect(await usedKeysIn(gateway)).toEqual(Array(4).fill(key?.keyId))
  })

  it('is not needed by an event without properties', async () => {
    const projector = await givenProjector(() => ({ existence: 'exists' }))
    const gateway = await givenGateway({ services: { 'user-projector': projector.url } })
    expect((await track(gateway, {})).status).toBe(202)
    expect(await gateway.userKeys()).toEqual([])
    expect(await usedKeysIn(gateway)).toEqual([undefined])
  })

  it('is shared by the items of a batch', async () => {
    const gateway = await givenGateway({})
    const names = Array.from({ length: 20 }, (_, index) => `user ${index}`)
    const { body } = await gateway.post('/v2/admin/batch', { items: names.flatMap(itemsOf) })
    expect(new Set(statusesOf(body['results'] as { status: number }[]))).toEqual(new Set([200, 202]))
    expect(await gateway.userKeys()).toHaveLength(20)
    expect(new Set(await usedKeysIn(gateway)).size).toBe(20)
  })

  it('is taken from the marker by another gateway', async () => {
    const gateway = await givenGateway({})
    const other = await givenGateway({ besides: gateway })
    await gateway.identify({ userName: 'ada' })
    expect(statusesOf([await track(other), await other.identify({ userName: 'ada' })])).toEqual([202, 200])
    expect(await gateway.userKeys()).toHaveLength(1)
    expect(await gateway.redis.ttl(markerOf(gateway))).toBeGreaterThan(6 * 24 * 3_600)
  })

  it('is taken from the projector after Redis was emptied, and marked again', async () => {
    let answer: UserLookedUp = { existence: 'missing' }
    const projector = await givenProjector(() => answer)
    const services = { 'user-projector': projector.url }
    const gateway = await givenGateway({ services })
    await gateway.identify({ userName: 'ada' })
    const [key] = await gateway.userKeys()
    answer = { existence: 'exists', key: { keyId: key?.keyId ?? '', wrapped: key?.wrapped ?? '' } }
    await gateway.redis.del(markerOf(gateway))
    const other = await givenGateway({ besides: gateway, services })
    for (let i = 0; i < 3; i += 1) expect((await track(other)).status).toBe(202)
    expect(projector.calls).toHaveLength(1)
    expect(new Set(await usedKeysIn(gateway))).toEqual(new Set([key?.keyId]))
    await until(async () => (await gateway.redis.get(markerOf(gateway))) === `${key?.keyId} ${key?.wrapped}`)
  })

  it('may be one of two if neither Redis nor the projector helps, and records of both open', async () => {
    const broken = { redisUrl: 'redis://127.0.0.1:1' }
    const gateway = await givenGateway(broken)
    const other = await givenGateway({ besides: gateway, ...broken })
    const both = [gateway, other]
    expect(statusesOf(await Promise.all(both.map((one) => one.identify({ userName: 'ada' }))))).toEqual([200, 200])
    expect(statusesOf(await Promise.all(both.map((one) => track(one))))).toEqual([202, 202])
    expect(await gateway.userKeys()).toHaveLength(2)
    expect(new Set(await usedKeysIn(gateway)).size).toBe(2)
    const names = (await gateway.records()).flatMap(({ fact }) => ('userName' in fact ? fact.userName : []))
    expect(names).toEqual(['ada', 'ada'])
  })

  it('is taken from a marker that an older secret key wraps, as long as the ring has that key', async () => {
    const gateway = await givenGateway({ keyRing: givenKeyRing(OLD) })
    const rotated = await givenGateway({ besides: gateway, keyRing: givenKeyRing(NEW, OLD) })
    const without = await givenGateway({ besides: gateway, keyRing: givenKeyRing(NEW) })
    await gateway.identify({ userName: 'ada' })
    expect((await track(rotated)).status).toBe(202)
    expect(await gateway.userKeys()).toHaveLength(1)
    // The marker still says that the user exists.
    expect((await track(without)).status).toBe(202)
    expect(await gateway.userKeys()).toHaveLength(2)
  })
})

/** The request of an erasure. */
function erasureOf(userId: string, receivedMs: number): ErasureFact {
  const received = new Date(receivedMs).toISOString()
  const about = { organization: 'acme', project: 'shop', received, userIds: [userId], unknown: 0, suppress: false }
  return { type: 'ErasureRequested', id: randomUUID(), ...about }
}

describe('the data key of an erased user (decision 18, The fence rule)', () => {
  const DESTROYED_MS = Date.now() - 3_600_000
  const keysUntilMs = DESTROYED_MS + 60_000

  it('is not taken from a marker, which is removed', async () => {
    const projector = await givenProjector(() => ({ existence: 'missing' }))
    const services = { 'user-projector': projector.url }
    const gateway = await givenGateway({ services, fences: { keysUntilOf: () => keysUntilMs } })
    const { wrapped } = createDataKey(givenKeyRing(OLD), adaOf(gateway), DESTROYED_MS)
    await gateway.redis.set(markerOf(gateway), `${wrapped.keyId} ${wrapped.wrapped}`)
    expect((await track(gateway)).status).toBe(404)
    expect(await gateway.redis.get(markerOf(gateway))).toBeNull()
    expect(await gateway.userKeys()).toEqual([])
  })

  it('is forgotten with the user as soon as the gateway knows the erasure, and a return creates a later key', async () => {
    const { fold, ...fences } = createErasureFold()
    const projector = await givenProjector(() => ({ existence: 'missing' }))
    const gateway = await givenGateway({ services: { 'user-projector': projector.url }, fences })
    await gateway.identify({ userName: 'ada' })
    fold(erasureOf(adaOf(gateway), Date.now()), 0n)
    const erasedUntilMs = fences.keysUntilOf(adaOf(gateway)) ?? 0
    expect((await track(gateway)).status).toBe(404)
    expect((await gateway.identify({ userName: 'ada' })).status).toBe(200)
    expect((await track(gateway)).status).toBe(202)
    const [first, second] = await gateway.userKeys()
    expect(keyTimeMs(second?.keyId ?? '')).toBe(erasedUntilMs + 1)
    expect(await usedKeysIn(gateway)).toEqual([first, second, second].map((key) => key?.keyId))
  })

  it('stays forgotten once the gateway has forgotten the erasure', async () => {
    const { fold, ...fences } = createErasureFold()
    const projector = await givenProjector(() => ({ existence: 'missing' }))
    const gateway = await givenGateway({ services: { 'user-projector': projector.url }, fences })
    await gateway.identify({ userName: 'ada' })
    fold(erasureOf(adaOf(gateway), Date.now()), 0n)
    await gateway.redis.del(markerOf(gateway))
    fold(erasureOf(randomUUID(), Date.now() + 9 * 86_400_000), 1n)
    expect(fences.keysUntilOf(adaOf(gateway))).toBeUndefined()
    expect((await track(gateway)).status).toBe(404)
    expect((await gateway.identify({ userName: 'ada' })).status).toBe(200)
    const [first, second] = await usedKeysIn(gateway)
    expect(second).not.toBe(first)
  })

  it('is not taken from a projector that has not folded the erasure, and the event is recorded unchecked', async () => {
    const { wrapped } = createDataKey(givenKeyRing(OLD), randomUUID(), DESTROYED_MS)
    const projector = await givenProjector(() => ({ existence: 'exists', key: wrapped }))
    const services = { 'user-projector': projector.url }
    const gateway = await givenGateway({ services, fences: { keysUntilOf: () => keysUntilMs } })
    expect((await track(gateway)).status).toBe(202)
    const [record] = await gateway.records()
    expect(record?.fact).toMatchObject({ unchecked: expect.arrayContaining(['user']) })
    const [key] = await gateway.userKeys()
    expect(keyTimeMs(key?.keyId ?? '')).toBeGreaterThan(keysUntilMs)
  })
})

describe('a data key that Kafka does not acknowledge (decisions.md, Busy and broken)', () => {
  let proxy: FaultProxy
  beforeEach(async () => {
    const [host = '', port] = inject('kafkaBrokers').split(':')
    proxy = createFaultProxy({ host, port: Number(port) })
    await proxy.start()
  })
  afterEach(() => proxy.stop())

  it('refuses its record, which is not in the log, and gives back room and names', async () => {
    const [metering, registry] = [await givenMetering(1_000), await givenRegistry()]
    const gateway = await givenGateway({
      addressFor: proxy.addressFor,
      requestBudgetMs: REQUEST_BUDGET_MS,
      plan: { eventsPerMonth: 1_000, monthlyActiveUsers: 1_000 },
      services: { metering: metering.url, 'trait-registry': registry.url },
    })
    proxy.onResponse(({ apiKey }) => (apiKey === produceApiKey ? 'lose' : 'pass'))
    const identify = () => gateway.identify({ userName: 'ada', userAttributes: { $set: { plan: 'pro' } } })
    const answers = [await identify(), await track(gateway)]
    expect(statusesOf(answers)).toEqual([503, 503])
    for (const { headers } of answers) expect(headers['retry-after']).toMatch(/^\d+$/)
    expect(await gateway.records()).toEqual([])
    const reserved = reservationsIn(metering.calls).map(({ recordId }) => recordId)
    expect(reserved).not.toEqual([])
    await until(() => reserved.every((recordId) => releasedIn(metering.calls).includes(recordId)))
    await until(() => registry.calls.some(({ name }) => name === 'releaseClaims'))

    proxy.onResponse(() => 'pass')
    proxy.cutAll()
    await until(async () => (await identify()).status === 200)
    expect((await gateway.records()).map(({ fact }) => fact.type)).toEqual(['IdentifyRequested'])
  })
})
