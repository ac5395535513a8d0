import { describe, expect, it } from 'vitest'
import { eventually } from '@nextvisit/testing/black-box'
import { type ApiAnswer, callerOf } from './call.ts'
import { sendersOf, type RequestOutcome } from './senders.ts'
import { settledUser } from './settled-user.ts'

const isRegistered = ({ text }: ApiAnswer) => text.includes('"brand_new"')
const isFolded = ({ status }: ApiAnswer) => status === 200

/** Tests the contract, Trait policy and rules; decisions.md, Identify, by the user's state over HTTP. */
export function describeIdentifyPolicy(): void {
  const shop = callerOf('SHOP_ADMIN_P', 'SHOP_SDK_P')
  const closed = callerOf('CLOSED_ADMIN_P', 'CLOSED_SDK_P')
  const senders = sendersOf('SHOP')
  const oneByOne =
    (send: typeof senders.sdk): typeof senders.batch =>
    async (requests) => {
      const outcomes: RequestOutcome[] = []
      for (const request of requests) outcomes.push(await send(request))
      return outcomes
    }
  const bySingle = oneByOne(senders.single)
  let users = 0

  /** Returns the traits of a new user after these attributes, one request each. */
  async function traitsAfter(attributes: readonly object[], sendAll = bySingle): Promise<unknown> {
    users += 1
    const userName = `traits-${users}`
    const requests = attributes.map(
      (userAttributes) => ({ type: 'identify', body: { userName, userAttributes } }) as const,
    )
    const outcomes = await sendAll(requests)
    expect(outcomes.map(({ status }) => status)).toEqual(requests.map(() => 200))
    return (await settledUser(shop, userName))['traits']
  }

  describe('trait operations, through every route', () => {
    it.each<readonly [string, readonly object[], Readonly<Record<string, unknown>>]>([
      [
        '$set sets and overwrites',
        [{ $set: { a: 1, b: 'x' } }, { $set: { a: [true, null, 'y'] } }],
        { a: [true, null, 'y'], b: 'x' },
      ],
      ['$set to null keeps the trait, as null', [{ $set: { a: 1 } }, { $set: { a: null } }], { a: null }],
      [
        '$setOnce sets only unset traits',
        [{ $set: { a: 1 } }, { $setOnce: { a: 2, b: 3 } }, { $setOnce: { b: 4 } }],
        { a: 1, b: 3 },
      ],
      [
        '$setOnce on a trait whose value is null leaves null',
        [{ $set: { a: null } }, { $setOnce: { a: 1 } }],
        { a: null },
      ],
      ['$setOnce after $unset sets again', [{ $set: { a: 1 } }, { $unset: ['a'] }, { $setOnce: { a: 2 } }], { a: 2 }],
      ['$increment of an unset trait starts at 0', [{ $increment: { a: 2.5 } }], { a: 2.5 }],
      ['$decrement of an unset trait starts at 0', [{ $decrement: { a: 2 } }], { a: -2 }],
      [
        '$increment and $decrement count',
        [{ $set: { a: 10 } }, { $increment: { a: 5 } }, { $decrement: { a: 1 } }],
        { a: 14 },
      ],
      ['increment of a string is skipped', [{ $set: { a: '1' } }, { $increment: { a: 1 } }], { a: '1' }],
      [
        'increment of null, of true and of an array is skipped',
        [{ $set: { a: null, b: true, c: [1] } }, { $increment: { a: 1, b: 1, c: 1 } }],
        { a: null, b: true, c: [1] },
      ],
      [
        'a skipped operation does not stop the others',
        [{ $set: { a: 'x', b: 1 } }, { $increment: { a: 1, b: 1 } }],
        { a: 'x', b: 2 },
      ],
      ['$unset removes', [{ $set: { a: 1, b: 2 } }, { $unset: ['a', 'never'] }], { b: 2 }],
      [
        'the order in one request: $set, $setOnce, $increment, $decrement, $unset, in any order of members',
        [
          {
            $unset: ['gone'],
            $decrement: { a: 1, c: 1 },
            $increment: { a: 10, b: 5, c: 2 },
            $setOnce: { a: 100, b: 1 },
            $set: { a: 1, gone: 1 },
          },
        ],
        { a: 10, b: 6, c: 1 },
      ],
      [
        'values are returned unchanged',
        [{ $set: { a: '', b: 0, c: -0.1, d: false, e: '🎉 "q" \\', f: [], g: 1e21 } }],
        { a: '', b: 0, c: -0.1, d: false, e: '🎉 "q" \\', f: [], g: 1e21 },
      ],
    ])('%s', async (_name, requests, traits) => {
      const each = [bySingle, oneByOne(senders.sdk), senders.batch].map((sendAll) => traitsAfter(requests, sendAll))
      expect(await Promise.all(each)).toEqual([traits, traits, traits])
    })

    it('a sum that would not be finite is skipped', async () => {
      const huge = 1.7e308
      expect(await traitsAfter([{ $set: { a: huge } }, { $increment: { a: huge, b: 1 } }])).toEqual({ a: huge, b: 1 })
    })

    it('250 new slugs in one request are all registered', async () => {
      const set = Object.fromEntries(Array.from({ length: 250 }, (_, i) => [`many ${i}`, i]))
      expect(await traitsAfter([{ $set: set }])).toEqual(set)
    })

    it('50 increments at once all count', async () => {
      await Promise.all(
        Array.from({ length: 50 }, () => shop.identify({ userName: 'many', userAttributes: { $increment: { n: 1 } } })),
      )
      expect((await settledUser(shop, 'many'))['traits']).toEqual({ n: 50 })
    })

    it('__proto__, constructor and the like are ordinary trait slugs and change nothing else', async () => {
      const slugs = [
        '__proto__',
        'constructor',
        'prototype',
        'toString',
        'hasOwnProperty',
        'a.b',
        '0',
        'ключ 🎉',
        "'; --",
      ]
      const set = `{${slugs.map((slug) => `${JSON.stringify(slug)}:"x"`).join(',')}}`
      await shop.identify(
        `{"userName":"proto","userAttributes":{"$set":${set},"$increment":{"__proto__n":1},"$unset":["valueOf"]}}`,
      )
      await settledUser(shop, 'proto')
      const { text } = await shop.readUser('proto')
      // Compared as text, because parsing may lose __proto__.
      for (const slug of slugs) expect(text).toContain(`${JSON.stringify(slug)}:"x"`)
      await shop.identify(`{"userName":"proto","userAttributes":{"$unset":${JSON.stringify(slugs)}}}`)
      await settledUser(shop, 'proto')
      expect((await shop.readUser('proto')).text).toContain('"traits":{"__proto__n":1}')
    })

    it('a refused request changes nothing', async () => {
      const userAttributes = { $set: { a: 2 }, $increment: { a: 'x' } }
      await shop.identify({ userName: 'refused', userAttributes: { $set: { a: 1 } } })
      expect((await shop.identify({ userName: 'refused', userAttributes })).status).toBe(400)
      expect((await settledUser(shop, 'refused'))['traits']).toEqual({ a: 1 })
    })
  })

  describe('trait policy', () => {
    it('unknown trait slug: registered, even if the project has client-created traits turned off', async () => {
      await closed.identify({ userName: 'unknown-slug', userAttributes: { $set: { brand_new: 1 } } })
      expect((await settledUser(closed, 'unknown-slug'))['traits']).toEqual({ brand_new: 1 })
      expect((await eventually(() => closed.get('/v2/admin/traits?limit=1000'), isRegistered, 10_000)).text).toContain(
        '"brand_new"',
      )
    })

    it('slug marked disabled: dropped, from every operator', async () => {
      const operand = { internal_note: 1, kept: 1 }
      for (const userAttributes of [
        { $set: operand },
        { $setOnce: operand },
        { $increment: operand },
        { $decrement: operand },
      ])
        expect((await closed.identify({ userName: 'disabled-slug', userAttributes })).status).toBe(200)
      expect((await settledUser(closed, 'disabled-slug'))['traits']).toEqual({ kept: 1 })
    })

    it('known fields are filtered by the allow-list for either kind of key; custom traits pass', async () => {
      const set = {
        email: 'e',
        phone: 'p',
        name: 'n',
        firstName: 'f',
        lastName: 'l',
        address: 'a',
        birthday: 'b',
        gender: 'g',
        ipAddress: 'i',
        Email: 'custom',
        custom: 1,
      }
      await closed.identify({ userName: 'pii', userAttributes: { $set: set } })
      expect((await settledUser(closed, 'pii'))['traits']).toEqual({ email: 'e', Email: 'custom', custom: 1 })
      await shop.identify({ userName: 'pii', userAttributes: { $set: set } })
      expect((await settledUser(shop, 'pii'))['traits'], 'by default: email and name').toEqual({
        email: 'e',
        name: 'n',
        Email: 'custom',
        custom: 1,
      })
    })

    it('known fields are filtered from every operator', async () => {
      const userAttributes = {
        $set: { phone: 'p' },
        $setOnce: { lastName: 'l' },
        $increment: { birthday: 1 },
        $decrement: { gender: 1 },
      }
      await shop.identify({ userName: 'pii-operators', userAttributes })
      expect((await settledUser(shop, 'pii-operators'))['traits']).toEqual({})
    })

    it('device fields are filtered from $deviceInfo and from trait operations', async () => {
      await closed.identify({
        userName: 'device',
        $deviceInfo: { $countryCode: 'de', $browser: 'x', $timezone: 'UTC' },
        userAttributes: { $set: { $deviceOs: 'iOS', $appVersion: '1' } },
      })
      const { body } = await eventually(() => closed.readUser('device'), isFolded, 10_000)
      expect(body).toMatchObject({ country: 'DE', traits: {} })
      expect(body['device']).toEqual({ $deviceOs: 'iOS' })
    })

    it('a device field inside a trait operation is kept as a device fact, not as a trait', async () => {
      await shop.identify({
        userName: 'device-trait',
        userAttributes: { $set: { $countryCode: 'fr', $browser: 'x', plan: 'pro' } },
      })
      const user = await settledUser(shop, 'device-trait')
      expect(user).toMatchObject({ country: 'FR', device: { $browser: 'x' } })
      expect(user['traits']).toEqual({ plan: 'pro' })
    })

    it.each([
      ['$set', { $set: { $deviceOs: 'Linux' } }],
      ['$setOnce', { $setOnce: { $timezone: '+01:00' } }],
      ['$set with another type', { $set: { $app: 1 } }],
    ])('a device field inside %s is checked: 400', async (_name, userAttributes) => {
      expect((await shop.identify({ userName: 'device-checked', userAttributes })).status).toBe(400)
    })

    it('filtered and dropped slugs are not registered in the project', async () => {
      await settledUser(closed, 'pii')
      const { text } = await closed.get('/v2/admin/traits?limit=1000')
      for (const slug of ['internal_note', 'phone', 'firstName', '$browser', '$countryCode'])
        expect(text).not.toContain(`"${slug}"`)
    })
  })

  describe('device facts, country, first and last seen', () => {
    it('$countryCode is stored in upper case, and kept until another one is sent', async () => {
      await shop.identify({ userName: 'country', $deviceInfo: { $countryCode: 'aT' } })
      await shop.identify({ userName: 'country', $deviceInfo: { $deviceOs: 'Windows' } })
      expect(await settledUser(shop, 'country')).toMatchObject({
        country: 'AT',
        device: { $deviceOs: 'Windows' },
      })
    })

    it("admin identify does not fill in the country from the caller's address", async () => {
      await shop.identify({ userName: 'no-country' })
      expect((await settledUser(shop, 'no-country'))['country']).toBeNull()
    })

    it('first and last seen are the earliest and latest received, with either kind of key', async () => {
      const before = Date.now()
      await shop.identify({ userName: 'seen' })
      await shop.visit({ userName: 'seen' })
      const { firstSeenAt, lastSeenAt } = (await settledUser(shop, 'seen')) as {
        firstSeenAt: string
        lastSeenAt: string
      }
      expect(Date.parse(firstSeenAt)).toBeGreaterThanOrEqual(before)
      expect(Date.parse(lastSeenAt)).toBeGreaterThan(Date.parse(firstSeenAt))
      expect(Date.parse(lastSeenAt)).toBeLessThanOrEqual(Date.now())
    })
  })
}
