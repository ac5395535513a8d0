import { randomBytes, randomUUID } from 'node:crypto'
import { TOO_MANY_LISTENERS } from '@nextvisit/contracts'
import { createWebhookSecret } from '@nextvisit/domain'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it, vi } from 'vitest'
import { createListeners, type HeardEvent } from './listeners.ts'

const PROJECT = { organization: 'acme', project: 'shop' }
const SECRET = createWebhookSecret(randomBytes(32))

function event(special: Partial<HeardEvent> = {}): HeardEvent {
  const userId = randomUUID()
  const type = special.type ?? 'form.queued'
  const body = JSON.stringify({ type, timestamp: '2026-11-02T10:00:00.000Z', data: { ...PROJECT, userId } })
  return { ...PROJECT, userId, webhookId: randomUUID(), type, body, capture: [], ...special }
}

/** A listener that has begun to listen. */
async function givenListener(
  listeners = createListeners(),
  {
    withinMs = 600,
    ...special
  }: { readonly withinMs?: number; readonly events?: HeardEvent['type'][]; readonly project?: string } = {},
) {
  const listenerId = randomUUID()
  const ask = async (signal = new AbortController().signal) => {
    const query = { ...PROJECT, ...special, listenerId, secret: SECRET }
    const context = { signal, deadlineAt: performance.now() + withinMs, now: () => new Date() }
    const answer = await listeners.listen(query, context)
    if (answer === TOO_MANY_LISTENERS) throw new Error('too many listeners')
    return answer
  }
  expect(await ask()).toEqual({ deliveries: [], missed: 0 })
  const hear = async () => (await ask()).deliveries.map(({ headers }) => headers['webhook-id'])
  return { listeners, ask, hear }
}

describe('a listener', () => {
  it('hears what is folded after its first question, in order and signed', async () => {
    const listeners = createListeners()
    expect(listeners.isHeard(PROJECT)).toBe(false)
    listeners.hear([event()])
    const { ask } = await givenListener(listeners)
    expect(listeners.isHeard(PROJECT)).toBe(true)
    const events = [event(), event(), event()]
    listeners.hear(events)
    const { deliveries } = await ask()
    expect(deliveries.map(({ body }) => body)).toEqual(events.map(({ body }) => body))
    for (const { headers, body } of deliveries) expect(() => new Webhook(SECRET).verify(body, headers)).not.toThrow()
  })

  it('waits for the first delivery, and no longer than its caller', async () => {
    const { listeners, hear } = await givenListener()
    const waiting = hear()
    const one = event()
    listeners.hear([one])
    expect(await waiting).toEqual([one.webhookId])
    expect(await hear()).toEqual([])
  })

  it('hears its project and events only, and none that others have heard less of', async () => {
    const listeners = createListeners()
    const all = await givenListener(listeners)
    const answers = await givenListener(listeners, { events: ['form.answered'] })
    const elsewhere = await givenListener(listeners, { project: 'other' })
    const [queued, answered] = [event(), event({ type: 'form.answered' })]
    listeners.hear([queued, answered])
    expect(await all.hear()).toEqual([queued.webhookId, answered.webhookId])
    expect(await answers.hear()).toEqual([answered.webhookId])
    expect(await elsewhere.hear()).toEqual([])
  })

  it('gets the answers of a form, in order, once the collector has them', async () => {
    const { listeners, ask } = await givenListener()
    let outcome: 'later' | 'known' = 'later'
    listeners.completeWith(async (one) =>
      one.capture.length === 0 || outcome === 'known'
        ? { outcome: 'known', body: `${one.body} ` }
        : { outcome: 'later' },
    )
    const events = [event(), event({ type: 'form.answered', capture: ['answers'] }), event()]
    listeners.hear(events)
    const bodies = async () => (await ask()).deliveries.map(({ body }) => body)
    expect(await bodies()).toEqual([`${events[0]?.body} `])
    expect(await bodies()).toEqual([])
    outcome = 'known'
    expect(await bodies()).toEqual(events.slice(1).map(({ body }) => `${body} `))
  })

  it('does not get what is erased', async () => {
    const { listeners, hear } = await givenListener()
    listeners.completeWith(async ({ body, capture }) =>
      capture.length > 0 ? { outcome: 'gone' } : { outcome: 'known', body },
    )
    const last = event()
    listeners.hear([event({ type: 'form.answered', capture: ['answers'] }), last])
    expect(await hear()).toEqual([last.webhookId])
  })

  it('hears of an erased user only the erasure', async () => {
    const { listeners, hear } = await givenListener()
    const userId = randomUUID()
    const other = event()
    listeners.hear([event({ userId }), other])
    const [erased, returned] = [event({ userId, type: 'user.erased' }), event({ userId })]
    listeners.hear([event({ userId }), event({ userId, type: 'user.erased', project: 'another' }), erased, returned])
    expect(await hear()).toEqual([other.webhookId, erased.webhookId, returned.webhookId])
  })

  it('hears only the erasure of a user who is erased while answers are read', async () => {
    const { listeners, hear } = await givenListener()
    const userId = randomUUID()
    const [first, last, erased] = [event(), event(), event({ userId, type: 'user.erased' })]
    let outcome: 'known' | 'later' = 'later'
    listeners.completeWith(async ({ webhookId, body }) => {
      if (webhookId !== last.webhookId) return { outcome: 'known', body }
      // The events of the user before this one are ready, and those after it are put back.
      if (outcome === 'later') listeners.hear([erased])
      return outcome === 'known' ? { outcome, body } : { outcome }
    })
    listeners.hear([first, event({ userId }), last, event({ userId })])
    expect(await hear()).toEqual([first.webhookId])
    outcome = 'known'
    expect(await hear()).toEqual([last.webhookId, erased.webhookId])
  })

  it('misses no delivery if its caller leaves', async () => {
    const { listeners, ask, hear } = await givenListener()
    const leaving = new AbortController()
    const one = event()
    listeners.completeWith(async ({ body }) => {
      leaving.abort()
      return { outcome: 'known', body }
    })
    listeners.hear([one])
    await ask(leaving.signal)
    expect(await hear()).toEqual([one.webhookId])
  })

  it('holds 1,000 deliveries at most, and some megabytes, and counts the rest', async () => {
    const { listeners, ask } = await givenListener()
    listeners.hear(Array.from({ length: 1_200 }, () => event()))
    expect((await ask()).missed).toBe(200)
    const long = await givenListener(listeners)
    listeners.hear(Array.from({ length: 5 }, () => event({ body: `"${'x'.repeat(2 ** 19)}"` })))
    // An answer ends with a megabyte, and the rest comes with the next one.
    const answers = [await long.ask(), await long.ask()]
    expect(answers.map(({ deliveries, missed }) => [deliveries.length, missed])).toEqual([
      [2, 2],
      [1, 0],
    ])
  })

  it('is forgotten 30 s after its last question, so that there is room for others', async () => {
    const listeners = createListeners()
    for (let nth = 0; nth < 50; nth += 1) await givenListener(listeners)
    await expect(givenListener(listeners)).rejects.toThrow('too many listeners')
    const now = performance.now()
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now + 31_000)
    try {
      listeners.hear([])
      expect(listeners.isHeard(PROJECT)).toBe(false)
    } finally {
      clock.mockRestore()
    }
    await expect(givenListener(listeners)).resolves.toBeDefined()
  })
})
