import { describe, expect, it } from 'vitest'
import { eventually } from '@nextvisit/testing/black-box'
import { type ApiAnswer, callerOf, errorOf } from './call.ts'
import { settledUser } from './settled-user.ts'

const areThree = ({ body }: ApiAnswer) => (body['monthlyActiveUsers'] as { count: number }).count === 3

/** Tests the contract, unique-traits cap and MAU quota; decisions.md, Identify. The plans' limits are 3. */
export function describeUserLimits(): void {
  describe('unique-traits cap: excess new slugs are stripped', () => {
    it("new slugs are admitted in the order of the parsed object's own keys, and the answer is 200", async () => {
      const caller = callerOf('TRAITS_IN_ORDER_ADMIN_P')
      const userAttributes = { $increment: { b: 1 }, $setOnce: { c: 1, d: 1 }, $set: { a: 1, e: 1 } }
      expect((await caller.identify({ userName: 'ada', userAttributes })).status).toBe(200)
      expect((await settledUser(caller, 'ada'))['traits']).toEqual({ b: 1, c: 1, d: 1 })
      // At the cap, known slugs still pass, even for another user.
      await caller.identify({ userName: 'bob', userAttributes: { $set: { d: 2, f: 2 } } })
      expect((await settledUser(caller, 'bob'))['traits']).toEqual({ d: 2 })
    })

    it('with every kind of key, in both environments', async () => {
      const caller = callerOf('TRAITS_IN_ORDER_ADMIN_P', 'TRAITS_IN_ORDER_SDK_P')
      await callerOf('TRAITS_IN_ORDER_ADMIN_T').identify({ userName: 'eve', userAttributes: { $set: { b: 1, t: 1 } } })
      await caller.visit({ userName: 'eve', userAttributes: { $set: { c: 1, s: 1 } } })
      expect((await settledUser(caller, 'eve'))['traits']).toEqual({ b: 1, c: 1 })
    })

    it('a stripped slug is stripped from every operator of the request; $unset registers nothing', async () => {
      const caller = callerOf('TRAITS_OPERATORS_ADMIN_P')
      await caller.identify({ userName: 'ada', userAttributes: { $unset: ['u', 'v', 'w', 'x'] } })
      await caller.identify({ userName: 'ada', userAttributes: { $set: { a: 1, b: 1 } } })
      await caller.identify({
        userName: 'ada',
        userAttributes: {
          $set: { c: 5, over: 1 },
          $setOnce: { over: 2 },
          $increment: { over: 3, c: 1 },
          $decrement: { over: 4 },
        },
      })
      expect((await settledUser(caller, 'ada'))['traits']).toEqual({ a: 1, b: 1, c: 6 })
      await caller.identify({ userName: 'ada', userAttributes: { $unset: ['a', 'over'] } })
      await caller.identify({ userName: 'ada', userAttributes: { $set: { late: 1 } } })
      expect((await settledUser(caller, 'ada'))['traits'], '$unset frees no room').toEqual({ b: 1, c: 6 })
    })

    it('counts custom slugs that are not disabled: known fields and disabled slugs take no room', async () => {
      const caller = callerOf('TRAITS_COUNTED_ADMIN_P')
      const set = { email: 'e', name: 'n', phone: 'p', $browser: 'x', off: 1, a: 1, b: 1, c: 1, d: 1 }
      await caller.identify({ userName: 'ada', userAttributes: { $set: set } })
      expect((await settledUser(caller, 'ada'))['traits']).toEqual({ email: 'e', name: 'n', a: 1, b: 1, c: 1 })
    })

    it('of 30 parallel requests with a new slug each, exactly 3 slugs are kept', async () => {
      const caller = callerOf('TRAITS_PARALLEL_ADMIN_P')
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, i) =>
          caller.identify({ userName: 'ada', userAttributes: { $set: { [`slug-${i}`]: i } } }),
        ),
      )
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
      expect(Object.keys((await settledUser(caller, 'ada'))['traits'] as object)).toHaveLength(3)
    })
  })

  it('a cap of 0 strips every custom slug; known fields pass', async () => {
    const caller = callerOf('NO_EVENTS_ADMIN_P')
    await caller.identify({ userName: 'zero', userAttributes: { $set: { a: 1, email: 'e' }, $increment: { b: 1 } } })
    expect((await settledUser(caller, 'zero'))['traits']).toEqual({ email: 'e' })
  })

  describe('project MAU quota exhausted: 400', () => {
    const refused = errorOf(400, 'Monthly active users limit reached for your plan')

    it('a user counts once, with either kind of key, in both environments; counted users still pass', async () => {
      const p = callerOf('MAU_ADMIN_P', 'MAU_SDK_P')
      const t = callerOf('MAU_ADMIN_T')
      for (let i = 0; i < 3; i += 1) expect((await p.identify({ userName: 'first' })).status).toBe(200)
      expect((await p.visit({ userName: 'first' })).status).toBe(200)
      expect((await t.identify({ userName: 'first' })).status).toBe(200)
      expect((await t.identify({ userName: 'second' })).status).toBe(200)
      // A refused body or an event does not count a user.
      expect((await p.identify({ userName: 'x', userAttributes: 1 })).status).toBe(400)
      expect((await p.track({ userName: 'first', eventName: 'no MAU' })).status).toBe(202)
      expect((await p.visit({ userName: 'third' })).status).toBe(200)
      for (const identify of [p.identify, p.visit, t.identify]) {
        expect(await identify({ userName: 'fourth' })).toMatchObject(refused)
        for (const userName of ['first', 'second', 'third']) expect((await identify({ userName })).status).toBe(200)
      }
      expect(
        await p.track({ userName: 'fourth', eventName: 'no MAU' }),
        'a refused request leaves no user',
      ).toMatchObject(errorOf(404, 'User not found'))
      expect((await p.track({ userName: 'first', eventName: 'no MAU' })).status).toBe(202)
      const usage = await eventually(() => p.get('/v2/admin/usage'), areThree, 10_000)
      expect(usage.body['monthlyActiveUsers']).toEqual({ count: 3, limit: 3 })
    })

    it('a quota of 0 refuses every user; a refused request registers no traits', async () => {
      const caller = callerOf('NO_USERS_ADMIN_P')
      expect(await caller.identify({ userName: 'ada', userAttributes: { $set: { leaked: 1 } } })).toMatchObject(refused)
      expect((await caller.get('/v2/admin/traits')).body).toEqual({ traits: [], next: null })
      expect((await caller.get('/v2/admin/usage')).body).toMatchObject({
        monthlyActiveUsers: { count: 0, limit: 0 },
        uniqueTraits: { count: 0, limit: null },
      })
    })

    it('a refused visit shows nothing', async () => {
      const { body } = await callerOf('MAU_ADMIN_P', 'MAU_SDK_P').visit({ userName: 'fifth' })
      expect(body).toEqual(refused.body)
    })

    it('of 40 parallel requests for 20 users exactly 3 users pass, each with all requests', async () => {
      const caller = callerOf('MAU_PARALLEL_ADMIN_P')
      const answers = await Promise.all(
        Array.from({ length: 40 }, async (_, i) => ({
          user: i % 20,
          ...(await caller.identify({ userName: `u${i % 20}` })),
        })),
      )
      const passed = answers.filter(({ status }) => status === 200).map(({ user }) => user)
      expect(new Set(passed).size).toBe(3)
      for (const answer of answers.filter(({ status }) => status !== 200)) expect(answer).toMatchObject(refused)
      expect(passed).toHaveLength(6)
    })
  })
}
