import { ErrorBody, IdentifyUserAnswer, TrackEventAnswer, VisitAnswer } from '@nextvisit/contracts'
import { countKeyOf, userIdOf } from '@nextvisit/domain'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GatewayFixture, startGateway } from '../../test/gateway-fixture.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[57][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('a gateway on a real log, without the other services', () => {
  let gateway: GatewayFixture
  beforeAll(async () => {
    const where = { property: 'total', atLeast: 100 } as const
    const asked = [
      { id: 'large', where: { event: 'ordered', atLeast: 2, where } },
      { id: 'reached', where: { event: 'Ordered', atLeast: 1, where: { property: 'phone', exists: true } } },
    ]
    gateway = await startGateway({ project: { events: [{ slug: 'Legacy Click', enabled: false }], segments: asked } })
  })
  afterAll(() => gateway.stop())

  it('answers an identify with the userId, and the record carries the admitted values', async () => {
    const answer = await gateway.identify({
      userName: 'ada',
      userAttributes: { $set: { plan: 'pro', phone: '1' }, $increment: { visits: 2 } },
      $deviceInfo: { $countryCode: 'de' },
    })
    const userId = userIdOf(gateway.config.id, 'shop', 'ada')
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ message: 'ok', userId })
    const [record] = (await gateway.records()).filter(({ fact }) => fact.id === answer.headers['x-request-id'])
    expect(record?.fact).toMatchObject({
      type: 'IdentifyRequested',
      userId,
      userName: 'ada',
      environment: 'P',
      source: 'admin',
      operations: { set: { plan: 'pro' }, increment: { visits: 2 } },
      device: { $countryCode: 'DE' },
      filteredFields: ['phone'],
      unchecked: ['traits'],
    })
  })

  it('answers a visit whose device facts are invalid; the record names them, and a metric counts them', async () => {
    const answer = await gateway.visit({
      userName: 'browser',
      userAttributes: { $set: { plan: 'pro', $deviceType: 'fridge' } },
      $deviceInfo: { $timezone: 'Etc/Unknown', $deviceOs: 'Linux', $browser: 'Firefox', $appVersion: 7 },
    })
    expect(answer.status).toBe(200)
    const [record] = (await gateway.records()).filter(({ fact }) => fact.id === answer.headers['x-request-id'])
    expect(record?.fact).toMatchObject({
      operations: { set: { plan: 'pro' } },
      device: { $browser: 'Firefox' },
      invalidDeviceFields: ['$timezone', '$deviceOs', '$appVersion', '$deviceType'],
    })
    expect(JSON.stringify(record?.fact)).not.toMatch(/Etc|Linux|fridge/)
    expect(await gateway.invalidDeviceFields()).toEqual({ $timezone: 1, $deviceOs: 1, $appVersion: 1, $deviceType: 1 })
    const { status } = await gateway.track({ userName: 'browser', eventName: 'a' })
    expect(status).toBe(202)
    expect((await gateway.identify({ userName: 'browser', $deviceInfo: { $timezone: 'Etc/Unknown' } })).status).toBe(
      400,
    )
  })

  it('answers a visit whose device facts no operator takes, or cannot be stored', async () => {
    const userAttributes = { $set: { plan: 'pro', $timezone: {} }, $increment: { $app: 'x' } }
    const $deviceInfo = { $browser: '\u0000', $appVersion: '\ud800' }
    const answer = await gateway.visit({ userName: 'hostile browser', userAttributes, $deviceInfo })
    expect(answer.status).toBe(200)
    const [record] = (await gateway.records()).filter(({ fact }) => fact.id === answer.headers['x-request-id'])
    expect(record?.fact).toMatchObject({ operations: { set: { plan: 'pro' } }, device: {} })
    const invalid = record?.fact.type === 'IdentifyRequested' ? record.fact.invalidDeviceFields : undefined
    expect(invalid?.toSorted()).toEqual(['$app', '$appVersion', '$browser', '$timezone'])
    expect((await gateway.identify({ userName: 'ada', $deviceInfo })).status).toBe(400)
    expect((await gateway.visit({ userName: 'ada', userAttributes: { $set: { plan: '\u0000' } } })).status).toBe(400)
  })

  it('refuses a number that it would round, with its member, on every route', async () => {
    const { admin, sdk } = gateway.keys
    const send = async (path: string, body: string) => {
      const key = path.startsWith('/v2/sdk') ? sdk : admin
      const headers = { 'content-type': 'application/json', 'x-api-key': key }
      const answer = await gateway.call('POST', path, headers, body)
      return JSON.stringify(answer.body)
    }
    const trait = '"userName":"ada","userAttributes":{"$set":{"id":1193046900000000099}}'
    const property = '"userName":"ada","eventName":"a","properties":{"list":[{"id":12345678901234567890}]}'
    const [named, listed] = ['userAttributes.$set.id must be', 'properties.list[0].id must be']
    expect(await send('/v2/admin/identify-user', `{${trait}}`)).toContain(named)
    expect(await send('/v2/sdk/identify-user', `{${trait}}`)).toContain(named)
    expect(await send('/v2/admin/track-event', `{${property}}`)).toContain(listed)
    expect(await send('/v2/sdk/track-event', `{${property}}`)).toContain(listed)
    const items = `{"type":"identify",${trait}},{"type":"track",${property}},{"type":"identify","userName":"ada"}`
    const batch = await send('/v2/admin/batch', `{"items":[${items}]}`)
    expect([batch.includes(named), batch.includes(listed), batch.includes('"message":"ok"')]).toEqual([
      true,
      true,
      true,
    ])
    const messages = [
      '{"type":"identify","userId":"ada","traits":{"company":{"id":1193046900000000099}}}',
      '{"type":"identify","userId":"ada","context":{"traits":{"id":1193046900000000099}}}',
      '{"type":"track","userId":"ada","event":"a","properties":{"list":[{"id":12345678901234567890}]}}',
      '{"type":"track","userId":"ada","event":"a","properties":{"total":12.50,"text":"12345678901234567890"}}',
    ]
    const segment = await send('/v1/batch', `{"batch":[${messages.join(',')}]}`)
    for (const member of ['traits.company.id', 'context.traits.id', 'properties.list[0].id'])
      expect(segment).toContain(`${member} must be a finite number that is kept without rounding`)
    expect(segment).not.toContain('"index":3')
  })

  it('tells events apart whose names differ in their marks', async () => {
    await gateway.identify({ userName: 'somchai' })
    for (const eventName of ['ปี', 'ปู', 'काल', 'कील', 'किल'])
      expect((await gateway.track({ userName: 'somchai', eventName })).status).toBe(202)
    const facts = (await gateway.records()).map(({ fact }) => fact)
    const slugs = facts.flatMap((fact) =>
      fact.type === 'EventTracked' && fact.userId === userIdOf(gateway.config.id, 'shop', 'somchai') ? [fact.slug] : [],
    )
    expect(slugs).toEqual(['ปี', 'ปู', 'काल', 'कील', 'किल'])
  })

  it('keeps the caller’s trace in the record, which is not sampled where no traces are exported', async () => {
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
    const headers = { 'content-type': 'application/json', 'x-api-key': gateway.keys.admin }
    const answer = await gateway.call(
      'POST',
      '/v2/admin/identify-user',
      { ...headers, traceparent: `00-${trace}-00f067aa0ba902b7-01` },
      '{"userName":"tracy"}',
    )
    const record = (await gateway.records()).find(({ fact }) => fact.id === answer.headers['x-request-id'])
    expect(record?.headers['traceparent']).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-00$`))
  })

  it('keeps filtered values out of the log', async () => {
    await gateway.identify({
      userName: 'eve',
      userAttributes: { $set: { phone: 'canary-4711', address: 'canary-4712' } },
    })
    expect(JSON.stringify(await gateway.records())).not.toContain('canary')
  })

  it('answers a tracked event by the contract, unchecked if a service is unavailable', async () => {
    await gateway.identify({ userName: 'bob' })
    const answer = await gateway.track({ userName: 'bob', eventName: 'Checkout Completed' })
    expect(answer.status).toBe(202)
    expect(answer.body).toEqual({
      requestId: expect.stringMatching(UUID),
      occurredAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      newEvent: false,
      triggersEvaluated: true,
      formsQueued: 0,
      message: 'Event recorded.',
    })
    expect(answer.headers['x-request-id']).toBe(answer.body['requestId'])
    const record = (await gateway.records()).find(({ fact }) => fact.id === answer.body['requestId'])
    expect(record?.fact).toMatchObject({
      type: 'EventTracked',
      eventName: 'Checkout Completed',
      slug: 'checkout_completed',
      metered: true,
      evaluateTriggers: true,
      unchecked: ['event-name'],
    })
  })

  it('records the property counts of an event, by the properties that the project keeps', async () => {
    await gateway.identify({ userName: 'carl' })
    const requestIds: unknown[] = []
    for (const properties of [{ total: 100, phone: '1' }, { total: 1 }, undefined]) {
      const answer = await gateway.track({ userName: 'carl', eventName: 'Ordered', properties })
      requestIds.push(answer.body['requestId'])
    }
    const facts = new Map((await gateway.records()).map(({ fact }) => [fact.id, fact]))
    const written = requestIds.map((id) => facts.get(String(id)))
    const where = { property: 'total', atLeast: 100 } as const
    const [, hash] = countKeyOf({ event: 'ordered', where }).split('#')
    expect(written[0]).toMatchObject({ countsFor: [hash] })
    for (const fact of written.slice(1)) expect(Object.keys(fact ?? {})).not.toContain('countsFor')
  })

  it('records the properties of an event as given, without known fields that the project does not keep', async () => {
    await gateway.identify({ userName: 'bob' })
    const track = { userName: 'bob', eventName: 'Checkout Completed' }
    const given =
      '{"total":120.5,"email":"bob@example.com","phone":"canary","__proto__":{"phone":1},"items":[{"sku":"A"}]}'
    const body = `${JSON.stringify(track).slice(0, -1)},"properties":${given}}`
    const answers = [await gateway.track(JSON.parse(body)), await gateway.track({ ...track, properties: null })]
    const values = (await gateway.records()).map(({ fact }) => fact)
    const [withProperties, without] = answers.map((answer) => values.find(({ id }) => id === answer.body['requestId']))
    expect(JSON.stringify(withProperties)).toContain(
      '"properties":{"total":120.5,"email":"bob@example.com","__proto__":{"phone":1},"items":[{"sku":"A"}]}',
    )
    expect(withProperties).toMatchObject({ filteredFields: ['phone'] })
    expect(JSON.stringify(values)).not.toContain('canary')
    expect(without).toMatchObject({ type: 'EventTracked' })
    expect(Object.keys(without ?? {})).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^properties|^filtered/)]),
    )
  })

  it('keeps the signature of a user out of the log', async () => {
    const userSignature = 'ab'.repeat(32)
    await gateway.identify({ userName: 'bob', userSignature })
    const answer = await gateway.track({ userName: 'bob', eventName: 'Checkout Completed', userSignature })
    expect(answer.status).toBe(202)
    const facts = JSON.stringify((await gateway.records()).map(({ fact }) => fact))
    expect(facts).toContain(answer.body['requestId'])
    expect(facts).not.toContain(userSignature)
  })

  it('finds the user right after the identify response (decisions.md, Identify), on another gateway too', async () => {
    const other = await startGateway({ besides: gateway })
    await gateway.identify({ userName: 'carol' })
    const answers = [
      await gateway.track({ userName: 'carol', eventName: 'a' }),
      await other.track({ userName: 'carol', eventName: 'a' }),
    ]
    await other.stop()
    expect(answers.map(({ status }) => status)).toEqual([202, 202])
    const facts = (await gateway.records()).map(({ fact }) => fact).filter((fact) => fact.type === 'EventTracked')
    const ofCarol = facts.filter(({ userId }) => userId === userIdOf(gateway.config.id, 'shop', 'carol'))
    expect(ofCarol).toHaveLength(2)
    expect(ofCarol.flatMap(({ unchecked }) => unchecked)).not.toContain('user')
  })

  it('admits an event of a user that cannot be looked up, and marks the record (decisions.md, Busy and broken)', async () => {
    const answer = await gateway.track({ userName: 'nobody-knows', eventName: 'a' })
    expect(answer.status).toBe(202)
    const record = (await gateway.records()).find(({ fact }) => fact.id === answer.body['requestId'])
    expect(record?.fact).toMatchObject({ unchecked: expect.arrayContaining(['user']) })
  })

  it('refuses a disabled event by its slug, and publishes nothing (decisions.md, Track event)', async () => {
    await gateway.identify({ userName: 'dan' })
    const answer = await gateway.track({ userName: 'dan', eventName: 'LEGACY  click!' })
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({ status: 400, error: 'Bad Request', message: expect.stringContaining('disabled') })
    const records = await gateway.records()
    expect(records.some(({ fact }) => fact.id === answer.headers['x-request-id'])).toBe(false)
  })

  it('does not evaluate triggers of an event older than 15 minutes (contract, Event policy)', async () => {
    await gateway.identify({ userName: 'old' })
    const occurredAt = new Date(Date.now() - 16 * 60_000).toISOString()
    const answer = await gateway.track({ userName: 'old', eventName: 'a', occurredAt })
    expect(answer.body).toMatchObject({
      occurredAt,
      triggersEvaluated: false,
      formsQueued: 0,
      message: 'Event recorded. It is older than 15 minutes, so form triggers were not evaluated.',
    })
  })

  it('does not meter a T key', async () => {
    await gateway.identify({ userName: 'tess' }, gateway.keys.adminT)
    const answer = await gateway.track({ userName: 'tess', eventName: 'a' }, gateway.keys.adminT)
    const record = (await gateway.records()).find(({ fact }) => fact.id === answer.body['requestId'])
    expect(record?.fact).toMatchObject({ environment: 'T', metered: false })
  })

  it('answers a visit with the project’s SDK settings, and marks its record (decisions.md, Beyond the document)', async () => {
    const answer = await gateway.visit({ userName: 'visitor' })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      message: 'ok',
      userId: userIdOf(gateway.config.id, 'shop', 'visitor'),
      pingAgainIn: 60,
      pingOnNextPageVisit: false,
      onPageDelay: 0,
    })
    const record = (await gateway.records()).find(({ fact }) => fact.id === answer.headers['x-request-id'])
    expect(record?.fact).toMatchObject({ type: 'IdentifyRequested', source: 'sdk' })
  })

  it('treats __proto__ and constructor as ordinary traits', async () => {
    const body = '{"userName":"proto","userAttributes":{"$set":{"__proto__":"a","constructor":"b"}}}'
    const headers = { 'content-type': 'application/json', 'x-api-key': gateway.keys.admin }
    const answer = await gateway.call('POST', '/v2/admin/identify-user', headers, body)
    const record = (await gateway.records()).find(({ fact }) => fact.id === answer.headers['x-request-id'])
    const set = record?.fact.type === 'IdentifyRequested' ? record.fact.operations.set : undefined
    expect(Object.entries(set ?? {})).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ])
  })

  it('answers by the schemas of the public API', async () => {
    await gateway.identify({ userName: 'zoe' })
    expect(IdentifyUserAnswer.safeParse((await gateway.identify({ userName: 'zoe' })).body).success).toBe(true)
    expect(TrackEventAnswer.safeParse((await gateway.track({ userName: 'zoe', eventName: 'a' })).body).success).toBe(
      true,
    )
    expect(VisitAnswer.safeParse((await gateway.visit({ userName: 'zoe' })).body).success).toBe(true)
    expect(ErrorBody.safeParse((await gateway.track({ userName: 'zoe' })).body).success).toBe(true)
  })

  it('publishes exactly one record for each acknowledged request, however many arrive at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        gateway.identify({ userName: `crowd-${i % 50}`, userAttributes: { $set: { i } } }),
      ),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    const ids = (await gateway.records()).map(({ fact }) => fact.id)
    for (const { headers } of answers) expect(ids.filter((id) => id === headers['x-request-id'])).toHaveLength(1)
  })
})
