import { describe, expect, it } from 'vitest'
import { callerOf } from './call.ts'

/** Tests the contract, matched forms; decisions.md, Track event: formsQueued and message; and the visit that returns a form. */
export function describeForms(): void {
  const { identify, track, visit, sdkTrack, readUser, get } = callerOf('FORMS_ADMIN_P', 'FORMS_SDK_P')
  const order = (properties?: unknown) => track({ userName: 'orders', eventName: 'Ordered', properties })
  const often = (total?: number) =>
    track({ userName: 'often', eventName: 'Ordered Often', ...(total && { properties: { cart: { total } } }) })
  const sendBack = (all: boolean) => track({ userName: 'often', eventName: 'Sent Back', properties: { all } })
  const none = { formsQueued: 0, triggersEvaluated: true, message: 'Event recorded.' }

  describe('matched forms are queued for the next visit', () => {
    it('1 form, also in the message', async () => {
      await identify({ userName: 'one' })
      expect(await track({ userName: 'one', eventName: 'One Form' })).toMatchObject({
        status: 202,
        body: {
          formsQueued: 1,
          triggersEvaluated: true,
          message: "Event recorded. 1 form queued for the user's next visit.",
        },
      })
    })

    it('a form that already waits for the user is not queued twice and not counted', async () => {
      await identify({ userName: 'twice' })
      await track({ userName: 'twice', eventName: 'One Form' })
      expect((await track({ userName: 'twice', eventName: 'One Form' })).body).toMatchObject(none)
      expect((await visit({ userName: 'twice' })).body).toMatchObject({ nextFeedbackId: 'one' })
    })

    it('2 forms; a visit offers the one with higher priority, and reports that more wait', async () => {
      await identify({ userName: 'two' })
      expect((await track({ userName: 'two', eventName: 'two forms' })).body).toMatchObject({
        formsQueued: 2,
        message: "Event recorded. 2 forms queued for the user's next visit.",
      })
      const waiting = (await readUser('two')).body['waitingForms'] as { formId: string }[]
      expect(waiting.map(({ formId }) => formId)).toEqual(['two-b', 'two-a'])
      expect((await visit({ userName: 'two' })).body).toMatchObject({
        nextFeedbackId: 'two-b',
        pingOnNextPageVisit: true,
      })
      expect((await visit({ userName: 'two' })).body).toMatchObject({
        nextFeedbackId: 'two-a',
        pingOnNextPageVisit: false,
      })
      const last = (await visit({ userName: 'two' })).body
      expect(last).not.toHaveProperty('nextFeedbackId')
      expect(last).toMatchObject({ pingOnNextPageVisit: false })
    })

    it('an event to which no form reacts queues none', async () => {
      await identify({ userName: 'none' })
      expect((await track({ userName: 'none', eventName: 'Nothing Reacts' })).body).toMatchObject(none)
    })

    it('a trigger may have a condition on the properties of its event', async () => {
      await identify({ userName: 'orders' })
      for (const properties of [undefined, {}, { cart: { total: 99.99 } }, { cart: { total: '100' } }, { total: 100 }])
        expect((await order(properties)).body).toMatchObject(none)
      // The project does not keep `phone`, so no trigger sees it.
      expect((await order({ cart: { total: 100 }, phone: '1' })).body).toMatchObject({ formsQueued: 1 })
      expect((await visit({ userName: 'orders' })).body).toMatchObject({ nextFeedbackId: 'large-order' })
    })

    it('a trigger, and the segment of its audience, may count events by their properties', async () => {
      await identify({ userName: 'often' })
      for (const total of [100, 99, undefined, 1]) expect((await often(total)).body).toMatchObject(none)
      await sendBack(false)
      expect((await often(250)).body).toMatchObject({ formsQueued: 1 })
      expect((await visit({ userName: 'often' })).body).toMatchObject({ nextFeedbackId: 'large-orders' })
      expect((await often(99)).body, 'this one is not large').toMatchObject(none)
      await sendBack(true)
      expect((await often(100)).body, 'they are in the segment').toMatchObject(none)
      const refused = expect.objectContaining({ formId: 'large-orders', reason: 'not-in-audience' })
      expect((await get('/v2/admin/users/often/forms')).body).toMatchObject({
        forms: expect.arrayContaining([refused]),
      })
      expect(Object.keys((await readUser('often')).body['events'] as object).toSorted()).toEqual([
        'ordered_often',
        'sent_back',
      ])
    })

    it('an old event queues none, but counts in the window of the next event', async () => {
      await identify({ userName: 'old' })
      const occurredAt = new Date(Date.now() - 3_600_000).toISOString()
      for (let i = 0; i < 2; i += 1) {
        expect((await track({ userName: 'old', eventName: 'Counted', occurredAt })).body).toMatchObject({
          formsQueued: 0,
          triggersEvaluated: false,
        })
      }
      expect((await track({ userName: 'old', eventName: 'Counted' })).body).toMatchObject({ formsQueued: 1 })
    })

    it('evaluation sees the traits and the country of the identify just before', async () => {
      await identify({ userName: 'german', $deviceInfo: { $countryCode: 'de' } })
      expect((await track({ userName: 'german', eventName: 'Bought' })).body).toMatchObject({ formsQueued: 1 })
      await identify({ userName: 'french', $deviceInfo: { $countryCode: 'FR' } })
      expect((await track({ userName: 'french', eventName: 'Bought' })).body).toMatchObject(none)
    })

    it('a tracked event counts toward the "user was first seen" trigger', async () => {
      await identify({ userName: 'newcomer', userAttributes: { $set: { newcomer: true } } })
      expect((await track({ userName: 'newcomer', eventName: 'Anything' })).body).toMatchObject({ formsQueued: 1 })
      expect((await visit({ userName: 'newcomer' })).body).toMatchObject({ nextFeedbackId: 'first-seen' })
    })

    it('a tracked event does not count toward the "user started session" trigger; a visit does, and shows the form', async () => {
      await identify({ userName: 'greeted', userAttributes: { $set: { greeted: true } } })
      expect((await track({ userName: 'greeted', eventName: 'Anything' })).body).toMatchObject(none)
      expect((await visit({ userName: 'greeted' })).body).toMatchObject({ nextFeedbackId: 'session' })
    })

    it('admin identify never returns a form to show, and does not take it from the visit', async () => {
      await identify({ userName: 'waits' })
      await track({ userName: 'waits', eventName: 'One Form' })
      expect(Object.keys((await identify({ userName: 'waits' })).body).toSorted()).toEqual(['message', 'userId'])
      expect((await visit({ userName: 'waits' })).body).toMatchObject({ nextFeedbackId: 'one' })
    })

    it('an SDK track event also queues forms', async () => {
      await identify({ userName: 'by-page' })
      expect(await sdkTrack({ userName: 'by-page', eventName: 'one_form' })).toMatchObject({
        status: 202,
        body: { formsQueued: 1 },
      })
    })

    it('two visits at once never get the same row', async () => {
      await identify({ userName: 'at-once' })
      await track({ userName: 'at-once', eventName: 'One Form' })
      const answers = await Promise.all([1, 2, 3, 4].map(() => visit({ userName: 'at-once' })))
      expect(answers.filter(({ body }) => body['nextFeedbackId'] === 'one')).toHaveLength(1)
    })
  })
}
