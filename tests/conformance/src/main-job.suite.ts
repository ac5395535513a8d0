import { EventsPage, TraitsPage, UsageOverview } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { eventually } from '@nextvisit/testing/black-box'
import { type ApiAnswer, callerOf } from './call.ts'

const { identify, track, visit, get } = callerOf('MAIN_JOB_ADMIN_P', 'MAIN_JOB_SDK_P')
const read = async (path: string) => (await get(path)).body
const readUser = (userName: string) => read(`/v2/admin/users/${userName}`)
const said = ({ status, body }: ApiAnswer) => ({ status, body })

/** Tests the product's main job, step by step. */
export function describeMainJob(): void {
  describe('from a server-side event to a form at the next visit', () => {
    it('shows the form that an event triggered, once', async () => {
      const identified = await identify({ userName: 'ada', userAttributes: { $set: { plan: 'pro' } } })
      expect(said(identified)).toEqual({ status: 200, body: { message: 'ok', userId: expect.any(String) } })

      const tracked = await track({ userName: 'ada', eventName: 'Checkout Completed' })
      expect(tracked).toMatchObject({
        status: 202,
        body: {
          newEvent: true,
          triggersEvaluated: true,
          formsQueued: 1,
          message: "Event recorded. 1 form queued for the user's next visit.",
        },
      })

      const first = await visit({ userName: 'ada' })
      expect(first).toMatchObject({ status: 200, body: { message: 'ok', nextFeedbackId: 'nps-after-checkout' } })
      const second = await visit({ userName: 'ada' })
      expect(second.status).toBe(200)
      expect(second.body).not.toHaveProperty('nextFeedbackId')
    })

    it('queues nothing for a user outside the audience', async () => {
      await identify({ userName: 'bob', userAttributes: { $set: { plan: 'free' } } })
      const tracked = await track({ userName: 'bob', eventName: 'checkout_completed' })
      expect(tracked.body).toMatchObject({ formsQueued: 0, newEvent: false, message: 'Event recorded.' })
      expect((await visit({ userName: 'bob' })).body).not.toHaveProperty('nextFeedbackId')
    })

    it('folds acknowledged requests into the read model', async () => {
      await identify({
        userName: 'eve',
        userAttributes: { $set: { plan: 'free' }, $increment: { logins: 2 } },
        $deviceInfo: { $countryCode: 'de' },
      })
      await track({ userName: 'eve', eventName: 'Signed In' })
      const user = await eventually(
        () => readUser('eve'),
        (answer) => JSON.stringify(answer['events'] ?? {}).includes('signed_in'),
        10_000,
      )
      expect(user).toMatchObject({
        userName: 'eve',
        traits: { plan: 'free', logins: 2 },
        country: 'DE',
        events: { signed_in: { count: 1 } },
      })
    })

    it('lists and counts new traits and events, in the documented form', async () => {
      const { traits } = await eventually(
        async () => TraitsPage.parse(await read('/v2/admin/traits')),
        (page) => page.traits.some(({ slug }) => slug === 'logins'),
        10_000,
      )
      expect(traits.map(({ slug }) => slug)).toEqual(['logins', 'plan'])
      const { events } = EventsPage.parse(await read('/v2/admin/events?limit=1'))
      expect(events).toMatchObject([{ slug: 'checkout_completed', name: 'Checkout Completed' }])
      const usage = await eventually(
        async () => UsageOverview.parse(await read('/v2/admin/usage')),
        (overview) => overview.events.count === 3,
        10_000,
      )
      expect(usage).toMatchObject({
        events: { count: 3, limit: null },
        monthlyActiveUsers: { count: 3 },
        uniqueEvents: { count: 2 },
        uniqueTraits: { count: 2 },
      })
    })

    it('answers 404 for an event of a user who was never identified', async () => {
      expect(said(await track({ userName: 'nobody', eventName: 'Signed In' }))).toEqual({
        status: 404,
        body: { status: 404, error: 'Not Found', message: 'User not found' },
      })
    })
  })
}
