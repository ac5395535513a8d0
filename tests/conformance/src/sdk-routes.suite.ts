import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { call, callerOf, errorOf, UUID_V5 } from './call.ts'
import { settledUser } from './settled-user.ts'
import { SIGNING_SECRET } from '@nextvisit/testing/black-box'

const sign = (userName: string, secret = SIGNING_SECRET) => createHmac('sha256', secret).update(userName).digest('hex')

const preflight = (path: string) =>
  call({
    method: 'OPTIONS',
    path,
    headers: [
      'origin',
      'https://shop.example',
      'access-control-request-method',
      'POST',
      'access-control-request-headers',
      'content-type,x-api-key',
    ],
  })

/** Tests decisions.md, Beyond the document: `POST /v2/sdk/identify-user` and `POST /v2/sdk/track-event`. */
export function describeSdkRoutes(): void {
  const shop = callerOf('SHOP_ADMIN_P', 'SHOP_SDK_P')
  const closed = callerOf('CLOSED_ADMIN_P', 'CLOSED_SDK_P')

  describe('the visit', () => {
    it('answers message, userId, pingAgainIn, pingOnNextPageVisit, onPageDelay, and nothing else', async () => {
      const { status, body } = await shop.visit({ userName: 'visitor' })
      expect({ status, body }).toEqual({
        status: 200,
        body: {
          message: 'ok',
          userId: expect.stringMatching(UUID_V5),
          pingAgainIn: 60,
          pingOnNextPageVisit: false,
          onPageDelay: 0,
        },
      })
      expect((await closed.visit({ userName: 'visitor' })).body).toMatchObject({
        pingAgainIn: 7,
        pingOnNextPageVisit: true,
        onPageDelay: 2.5,
      })
    })

    it('returns the same userId as admin identify', async () => {
      const { body } = await shop.identify({ userName: 'visitor' })
      expect((await shop.visit({ userName: 'visitor' })).body['userId']).toBe(body['userId'])
    })

    it('a body that is not an object: 400, as for admin identify', async () => {
      expect(await shop.visit([])).toMatchObject(errorOf(400))
    })

    it('new traits follow clientCreatedTraits: off, only known slugs are kept', async () => {
      await closed.identify({ userName: 'registers', userAttributes: { $set: { by_admin: 1 } } })
      await closed.visit({
        userName: 'new-traits',
        userAttributes: { $set: { by_client: 1, by_admin: 2, email: 'e', phone: 'p', internal_note: 1 } },
      })
      expect((await settledUser(closed, 'new-traits'))['traits']).toEqual({ by_admin: 2, email: 'e' })
    })

    it('a trait that the workspace file declares is known before any record carries it', async () => {
      await closed.visit({ userName: 'declares', userAttributes: { $set: { declared_trait: 1, undeclared_trait: 1 } } })
      expect((await settledUser(closed, 'declares'))['traits']).toEqual({ declared_trait: 1 })
    })

    it('new traits follow clientCreatedTraits: on, they are registered', async () => {
      await shop.visit({ userName: 'new-traits', userAttributes: { $set: { by_client: 1 } } })
      expect((await settledUser(shop, 'new-traits'))['traits']).toEqual({ by_client: 1 })
    })

    it('stores the country in the request', async () => {
      await shop.visit({ userName: 'visit-country', $deviceInfo: { $countryCode: 'se', $deviceType: 'web' } })
      expect(await settledUser(shop, 'visit-country')).toMatchObject({ country: 'SE', device: { $deviceType: 'web' } })
    })
  })

  describe('the traits that pages may change (sdk.settableTraits)', () => {
    const listed = callerOf('LISTED_ADMIN_P', 'LISTED_SDK_P')

    it.each([
      ['$set', { plan: 'pro' }],
      ['$setOnce', { plan: 'pro' }],
      ['$increment', { plan: 1 }],
      ['$decrement', { plan: 1 }],
      ['$unset', ['plan']],
    ])('%s of another trait: 400 names it, and nothing is recorded', async (operator, operands) => {
      const userName = `by-page-${operator}`
      const userAttributes = { $set: { theme: 'dark' }, [operator]: operands }
      const refused = await listed.visit({ userName, userAttributes })
      expect(refused).toMatchObject(errorOf(400, expect.stringContaining(`userAttributes.${operator}.plan must not`)))
      expect((await listed.track({ userName, eventName: 'x' })).status).toBe(404)
    })

    it('a listed trait and device facts are recorded, and a server changes every trait', async () => {
      const user = { userName: 'by-page' }
      const $deviceInfo = { $deviceType: 'web' }
      const visited = await listed.visit({ ...user, userAttributes: { $set: { theme: 'dark' } }, $deviceInfo })
      const identified = await listed.identify({ ...user, userAttributes: { $set: { plan: 'pro' } } })
      expect([visited.status, identified.status]).toEqual([200, 200])
      expect(await settledUser(listed, 'by-page')).toMatchObject({
        traits: { theme: 'dark', plan: 'pro' },
        device: { $deviceType: 'web' },
      })
    })
  })

  describe('userSignature: required if the project requires it (401)', () => {
    const { visit, sdkTrack, track } = callerOf('SIGNED_ADMIN_P', 'SIGNED_SDK_P')

    it.each(['ada', 'Ада 🎉'])(
      'hex HMAC-SHA256 of userName %s under the signing secret passes, in either case',
      async (userName) => {
        expect((await visit({ userName, userSignature: sign(userName) })).status).toBe(200)
        expect((await visit({ userName, userSignature: sign(userName).toUpperCase() })).status).toBe(200)
      },
    )

    it.each([
      ['missing', undefined],
      ['null', null],
      ['empty', ''],
      ['of another user', sign('bob')],
      ['under another secret', sign('ada', 'x')],
      ['truncated', sign('ada').slice(0, -2)],
      ['longer', `${sign('ada')}00`],
      ['in base64', Buffer.from(sign('ada'), 'hex').toString('base64')],
    ])('%s: 401', async (_name, userSignature) => {
      expect(await visit({ userName: 'ada', userSignature })).toMatchObject(errorOf(401))
    })

    it.each([
      ['right', sign('tracked'), 202],
      ['missing', undefined, 401],
      ['of another user', sign('bob'), 401],
    ])('is also required for a tracked event: %s', async (_name, userSignature, status) => {
      await visit({ userName: 'tracked', userSignature: sign('tracked') })
      expect(await sdkTrack({ userName: 'tracked', eventName: 'x', userSignature })).toMatchObject({ status })
      expect(await track({ userName: 'tracked', eventName: 'x' })).toMatchObject({ status: 202 })
    })

    it('is checked after the body rules', async () => {
      expect(await visit({ userName: 'ada', userAttributes: { $push: 1 } })).toMatchObject(errorOf(400))
      expect(await visit({ userName: '' })).toMatchObject(errorOf(401, 'userName not found'))
    })

    it('creates no user if the signature is refused', async () => {
      await visit({ userName: 'unsigned', userSignature: sign('x') })
      expect((await callerOf('SIGNED_ADMIN_P').track({ userName: 'unsigned', eventName: 'x' })).status).toBe(404)
    })

    it('is ignored if the project does not require it', async () => {
      expect((await shop.visit({ userName: 'ada', userSignature: 'nonsense' })).status).toBe(200)
    })
  })

  describe('SDK track event', () => {
    it('is answered like the admin route', async () => {
      await shop.identify({ userName: 'sdk-tracked' })
      const { status, headers, body } = await shop.sdkTrack({ userName: 'sdk-tracked', eventName: 'From The Page' })
      expect({ status, body }).toMatchObject({
        status: 202,
        body: { requestId: headers['x-request-id'], newEvent: true, formsQueued: 0, message: 'Event recorded.' },
      })
    })

    it('new events follow clientCreatedEvents, else 400; known ones pass', async () => {
      await closed.identify({ userName: 'sdk-tracked' })
      const event = { userName: 'sdk-tracked', eventName: 'Not Yet Known' }
      expect(await closed.sdkTrack(event)).toMatchObject(errorOf(400))
      expect(await closed.track(event)).toMatchObject({ status: 202, body: { newEvent: true } })
      expect(await closed.sdkTrack(event)).toMatchObject({ status: 202, body: { newEvent: false } })
      expect(await closed.sdkTrack({ ...event, userName: 'nobody', eventName: 'Nor This' })).toMatchObject(errorOf(404))
    })
  })

  describe('an event declared in the workspace file by its name', () => {
    it('is known before any record carries it: clients may send it, and the first record registers it', async () => {
      await closed.identify({ userName: 'sdk-tracked' })
      const declared = await closed.sdkTrack({ userName: 'sdk-tracked', eventName: 'declared event' })
      expect(declared).toMatchObject({ status: 202, body: { newEvent: true } })
    })
  })

  describe('CORS', () => {
    it.each(['/v2/sdk/identify-user', '/v2/sdk/track-event', '/v2/sdk/answers'])(
      'OPTIONS %s is answered before the key check',
      async (path) => {
        const { status, headers } = await preflight(path)
        expect([200, 204]).toContain(status)
        expect(headers['access-control-allow-origin']).toMatch(/^(\*|https:\/\/shop\.example)$/)
        expect(headers['access-control-allow-methods']).toContain('POST')
        expect(String(headers['access-control-allow-headers']).toLowerCase()).toMatch(
          /content-type.*x-api-key|x-api-key.*content-type/,
        )
      },
    )

    it('every answer of an SDK route, including refusals, may be read from any origin', async () => {
      for (const answer of [
        await shop.visit({ userName: 'cors' }),
        await shop.visit({}),
        await call({ path: '/v2/sdk/track-event' }),
      ])
        expect(answer.headers['access-control-allow-origin']).toBe('*')
    })

    it('admin routes are for servers only: no CORS', async () => {
      expect((await preflight('/v2/admin/identify-user')).status).toBe(405)
      expect((await shop.identify({ userName: 'cors' })).headers).not.toHaveProperty('access-control-allow-origin')
    })
  })
}
