import { beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '@nextvisit/testing/black-box'
import { callerOf, errorOf } from './call.ts'

interface Events {
  readonly events: Readonly<
    Record<string, { readonly count: number; readonly firstAt: string; readonly lastAt: string }>
  >
}

/** Tests the contract, Track event: event policy; decisions.md, Track event. */
export function describeTrackPolicy(): void {
  const { identify, track, sdkTrack, readUser } = callerOf('EVENTS_ADMIN_P', 'EVENTS_SDK_P')
  const closed = callerOf('CLOSED_ADMIN_P', 'CLOSED_SDK_P')
  const eventsOf = async (userName: string, isDone: (user: Events) => boolean) =>
    (
      await eventually(
        async () => (await readUser(userName)).body as unknown as Events,
        (user) => 'events' in user && isDone(user),
        10_000,
      )
    ).events

  describe('track event: policy', () => {
    beforeAll(async () => {
      await identify({ userName: 'policy' })
      await closed.identify({ userName: 'policy' })
    })

    it('404 User not found, and nothing is registered', async () => {
      expect(await track({ userName: 'nobody', eventName: 'Never Registered' })).toMatchObject(
        errorOf(404, 'User not found'),
      )
      expect(await track({ userName: 'policy', eventName: 'Never Registered' })).toMatchObject({
        body: { newEvent: true },
      })
    })

    it('404 for a user of another project, and for a name in another case', async () => {
      await callerOf('SHOP_ADMIN_P').identify({ userName: 'only-in-shop' })
      for (const userName of ['only-in-shop', 'Policy', 'policy ', ' policy'])
        expect(await track({ userName, eventName: 'x' })).toMatchObject(errorOf(404, 'User not found'))
    })

    it('track event right after the identify response finds the user, 50 at once', async () => {
      const statuses = await Promise.all(
        Array.from({ length: 50 }, async (_, i) => {
          await identify({ userName: `at-once-${i}` })
          return (await track({ userName: `at-once-${i}`, eventName: 'At Once' })).status
        }),
      )
      expect(new Set(statuses)).toEqual(new Set([202]))
    })

    it('a user who just got 404 is found right after the identify', async () => {
      expect((await track({ userName: 'refused-first', eventName: 'x' })).status).toBe(404)
      await identify({ userName: 'refused-first' })
      expect((await track({ userName: 'refused-first', eventName: 'x' })).status).toBe(202)
    })

    it.each([
      [
        'Slug One',
        ['slug one', 'SLUG ONE', 'slug_one', ' Slug  One ', 'slug-one', 'slug.one!', '__slug__one__', '🎉slug🎉one🎉'],
      ],
      ['Käse gekauft', ['ka\u0308se gekauft', 'KÄSE_GEKAUFT']],
      ['Пуск 2', ['ПУСК-2']],
      ['購入 完了', ['購入_完了']],
    ])('slug: %s is one event with %j, and newEvent is true once', async (name, others) => {
      expect(await track({ userName: 'policy', eventName: name })).toMatchObject({
        status: 202,
        body: { newEvent: true },
      })
      for (const other of others)
        expect(await track({ userName: 'policy', eventName: other })).toMatchObject({
          status: 202,
          body: { newEvent: false },
        })
    })

    it.each([
      ['a1', 'a 1'],
      ['ab', 'a b'],
      ['kase', 'käse'],
    ])('slug: %s and %s are two events', async (one, other) => {
      expect((await track({ userName: 'policy', eventName: `two ${one}` })).body['newEvent']).toBe(true)
      expect((await track({ userName: 'policy', eventName: `two ${other}` })).body['newEvent']).toBe(true)
    })

    it('newEvent is true in exactly one response under 50 parallel requests, in five spellings', async () => {
      const names = ['Parallel Name', 'parallel_name', 'PARALLEL name', 'parallel--name', ' Parallel Name ']
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, i) => track({ userName: 'policy', eventName: names[i % names.length] })),
      )
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
      expect(answers.filter(({ body }) => body['newEvent'] === true)).toHaveLength(1)
    })

    it('newEvent is true again in another project', async () => {
      expect((await track({ userName: 'policy', eventName: 'Both Projects' })).body['newEvent']).toBe(true)
      expect((await closed.track({ userName: 'policy', eventName: 'Both Projects' })).body['newEvent']).toBe(true)
    })

    it('unknown event name: registered, even if client-created events are turned off', async () => {
      expect(await closed.track({ userName: 'policy', eventName: 'Unknown Here' })).toMatchObject({
        status: 202,
        body: { newEvent: true },
      })
    })

    it('counts and windows: old events count; first and last follow occurredAt, not the order of requests', async () => {
      await identify({ userName: 'counted' })
      const times = [60, 3_600_000, 86_400_000].map((age) => new Date(Date.now() - age).toISOString())
      for (const occurredAt of times) await track({ userName: 'counted', eventName: 'Old And New', occurredAt })
      const events = await eventsOf('counted', (user) => user.events['old_and_new']?.count === 3)
      expect(events).toEqual({ old_and_new: { count: 3, firstAt: times[2], lastAt: times[0] } })
    })

    it('__proto__ and constructor are ordinary event names', async () => {
      await identify({ userName: 'proto-events' })
      for (const eventName of ['__proto__', 'constructor', 'toString', 'hasOwnProperty'])
        expect((await track({ userName: 'proto-events', eventName })).status).toBe(202)
      const events = await eventsOf('proto-events', (user) => Object.keys(user.events).length === 4)
      expect(Object.keys(events).toSorted()).toEqual(['constructor', 'hasownproperty', 'proto', 'tostring'])
    })

    it('does not update last-seen; an SDK track event does', async () => {
      await identify({ userName: 'last-seen' })
      const first = await eventually(
        () => readUser('last-seen'),
        ({ status }) => status === 200,
        10_000,
      )
      await track({ userName: 'last-seen', eventName: 'Seen By Server' })
      await eventsOf('last-seen', (user) => user.events['seen_by_server'] !== undefined)
      expect((await readUser('last-seen')).body).toMatchObject({
        lastSeenAt: first.body['lastSeenAt'],
        firstSeenAt: first.body['firstSeenAt'],
      })
      await sdkTrack({ userName: 'last-seen', eventName: 'Seen By Page' })
      await eventsOf('last-seen', (user) => user.events['seen_by_page'] !== undefined)
      const { body } = await readUser('last-seen')
      expect(Date.parse(String(body['lastSeenAt']))).toBeGreaterThan(Date.parse(String(first.body['lastSeenAt'])))
      expect(body['firstSeenAt']).toBe(first.body['firstSeenAt'])
    })
  })
}
