import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { givenScriptedGateway, recorded, refusal, refused, type Script } from '../test/scripted-gateway.ts'
import { createNextvisit, type NextvisitOptions } from './nextvisit.ts'
import { NextvisitError } from './nextvisit-error.ts'

async function givenClient(script: Script, options: Partial<NextvisitOptions> = {}) {
  const { host, requests } = await givenScriptedGateway(script)
  const nextvisit = createNextvisit({ host, key: 'nv_admin_P_test', ...options })
  onTestFinished(() => nextvisit.close({ withinMs: 0 }).catch(() => undefined))
  return { nextvisit, requests }
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const track = (userName: string, eventName = 'a') => ({ userName, eventName })
/** A call with text of three bytes a character. */
const largeCall = (userName: string) => ({
  ...track(userName),
  properties: { pad: '漢'.repeat(1_000) },
  idempotencyKey: userName,
})
const keysOf = (items: readonly { readonly idempotencyKey: string }[]) =>
  items.map(({ idempotencyKey }) => idempotencyKey)
const takes: Script = ({ items }) => recorded(items)
const firstThenTakes =
  (answer: ReturnType<Script>): Script =>
  ({ items }, count) =>
    count === 0 ? answer : recorded(items)
const failureOf = async (promise: Promise<unknown>): Promise<NextvisitError> => {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof NextvisitError) return error
  throw new Error('It did not reject with a NextvisitError', { cause: error })
}

describe('calls', () => {
  it('made close together are sent as one batch, and each gets its own result', async () => {
    const { nextvisit, requests } = await givenClient(({ items }) =>
      recorded(items).map((result, index) => (index === 1 ? refused(404) : result)),
    )
    const results = await Promise.all([
      nextvisit.identify({ userName: 'ada' }),
      nextvisit.track(track('grace')),
      nextvisit.track(track('joan')),
    ])
    expect(results.map(({ status }) => status)).toEqual([200, 404, 202])
    expect(requests.map(({ items }) => items.map(({ userName }) => userName))).toEqual([['ada', 'grace', 'joan']])
    expect(requests[0]?.headers).toMatchObject({
      'x-api-key': 'nv_admin_P_test',
      'user-agent': expect.stringMatching(/^nextvisit-client\/\d+\.\d+\.\d+/),
    })
  })

  it('have one idempotency key each; a given key is kept', async () => {
    const { nextvisit, requests } = await givenClient(takes)
    await Promise.all([
      nextvisit.track({ ...track('ada'), idempotencyKey: 'order-1' }),
      nextvisit.track(track('grace')),
      nextvisit.track({ ...track('joan'), idempotencyKey: null }),
    ])
    const [given, ...made] = keysOf(requests[0]?.items ?? [])
    expect([given, new Set(made).size]).toEqual(['order-1', 2])
    for (const key of made) expect(key).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('are sent as they were when they were made', async () => {
    const { nextvisit, requests } = await givenClient(takes)
    const call = { userName: 'ada', eventName: 'a', properties: { total: 1 } }
    const tracked = nextvisit.track(call)
    call.properties.total = 2
    await tracked
    expect(requests[0]?.items[0]).toMatchObject({ properties: { total: 1 } })
  })

  it('are sent at most 1,000 in a batch, in at most 512,000 bytes', async () => {
    const { nextvisit, requests } = await givenClient(takes)
    const many = Array.from({ length: 2_500 }, (_, index) => nextvisit.track(track(`user ${index}`)))
    expect(new Set((await Promise.all(many)).map(({ status }) => status))).toEqual(new Set([202]))
    expect(requests.map(({ items }) => items.length).toSorted((a, b) => a - b)).toEqual([500, 1_000, 1_000])
    requests.length = 0
    const pad = 'ü'.repeat(10_000)
    const large = Array.from({ length: 60 }, (_, index) =>
      nextvisit.track({ ...track(`user ${index}`), properties: { pad } }),
    )
    await Promise.all(large)
    expect(requests.length).toBe(3)
    for (const { bytes } of requests) expect(bytes).toBeLessThanOrEqual(512_000)
  })

  it('that are too large for any batch are refused with 413 and not sent', async () => {
    const { nextvisit, requests } = await givenClient(takes)
    const result = await nextvisit.track({ ...track('ada'), properties: { pad: 'x'.repeat(512_000) } })
    expect(result).toMatchObject({ status: 413, message: expect.stringContaining('102400 bytes') })
    expect(requests).toEqual([])
  })

  it('that cannot be serialized reject, and do not affect others', async () => {
    const { nextvisit } = await givenClient(takes)
    const wrong = failureOf(nextvisit.track({ ...track('ada'), properties: { total: 1n } } as never))
    expect(await nextvisit.track(track('ada'))).toMatchObject({ status: 202 })
    expect(await wrong).toMatchObject({ code: 'NOT_JSON', retryable: false })
  })

  it('of a refused batch get its refusal', async () => {
    const { nextvisit } = await givenClient(() => refusal(401, 'Invalid or missing API key'))
    const results = await Promise.all([nextvisit.identify({ userName: 'ada' }), nextvisit.track(track('ada'))])
    for (const result of results) expect(result).toMatchObject({ status: 401, message: 'Invalid or missing API key' })
  })
})

describe('a batch that got no answer', () => {
  const failures: readonly (readonly [string, ReturnType<Script>])[] = [
    ['a cut connection', 'cut'],
    ['429', { ...refusal(429), headers: { 'retry-after': '0' } }],
    ['503', refusal(503)],
    ['500 without a body', { status: 500 }],
    ['an error page of a proxy', { status: 404, body: '<html>' }],
    ['unexpected JSON', { status: 200, body: {} }],
    ['a missing result', []],
  ]
  it.each(failures)('is sent again with the same keys, after %s', async (_, answer) => {
    const { nextvisit, requests } = await givenClient(firstThenTakes(answer))
    expect(await nextvisit.track(track('ada'))).toMatchObject({ status: 202 })
    expect(requests).toHaveLength(2)
    expect(requests[1]?.items).toEqual(requests[0]?.items)
  })

  it('is not sent again before Retry-After, and neither is any other', async () => {
    const { nextvisit, requests } = await givenClient(
      firstThenTakes({ ...refusal(429), headers: { 'retry-after': '60' } }),
      { deadlineMs: 500 },
    )
    const first = failureOf(nextvisit.track(track('ada')))
    while (requests.length === 0) await sleep(5)
    const errors = await Promise.all([first, failureOf(nextvisit.track(track('grace')))])
    expect(errors.map(({ code }) => code)).toEqual(['UNANSWERED', 'UNANSWERED'])
    expect(requests.length).toBe(1)
  })

  it('that is too large for a proxy is halved, until single calls are refused', async () => {
    const limit = 600
    const { nextvisit, requests } = await givenClient(({ items, bytes }) =>
      bytes > limit ? { status: 413, body: 'too large' } : recorded(items),
    )
    const small = Array.from({ length: 50 }, (_, index) => nextvisit.track(track(`user ${index}`)))
    const large = nextvisit.track({ ...track('ada'), properties: { pad: 'x'.repeat(limit) } })
    expect(new Set((await Promise.all(small)).map(({ status }) => status))).toEqual(new Set([202]))
    expect(await large).toMatchObject({ status: 413 })
    const tried = requests.length
    await Promise.all(Array.from({ length: 20 }, (_, index) => nextvisit.track(track(`user ${index}`))))
    expect(requests.slice(tried).every(({ bytes }) => bytes <= limit)).toBe(true)
  })

  it('rejects its calls at the deadline with their items, and never sends them again', async () => {
    let isDown = true
    const { nextvisit, requests } = await givenClient(
      ({ items }) => (isDown ? refusal(503, 'Down') : recorded(items)),
      { deadlineMs: 500 },
    )
    const error = await failureOf(nextvisit.track(track('ada')))
    expect(error).toMatchObject({ code: 'UNANSWERED', retryable: true, cause: { message: 'HTTP 503: Down' } })
    expect(error.message).toContain('within 500 ms. The latest try: HTTP 503: Down')
    expect(error.items).toEqual([{ ...track('ada'), type: 'track', idempotencyKey: expect.any(String) }])
    isDown = false
    const call = () => nextvisit.track(track('grace')).catch(() => undefined)
    while ((await call()) === undefined);
    expect(requests.at(-1)?.items.map(({ userName }) => userName)).toEqual(['grace'])
  })

  it('is followed by a single request that probes the gateway', async () => {
    const { nextvisit, requests } = await givenClient(async ({ items }, count) => {
      if (count < 3) return 'cut'
      if (count === 3) await sleep(200)
      return count === 3 && requests.length > 4 ? refusal(400, 'There was another') : recorded(items)
    })
    const calls = Array.from({ length: 2_500 }, (_, index) => nextvisit.track(track(`user ${index}`)))
    expect(new Set((await Promise.all(calls)).map(({ status }) => status))).toEqual(new Set([202]))
  })

  it('delays new calls, even if each item got no answer', async () => {
    const { nextvisit, requests } = await givenClient(({ items }) => items.map(() => refused(503)), {
      maxBatchDelayMs: 0,
      deadlineMs: 300,
    })
    const calls: Promise<unknown>[] = []
    for (let user = 0; user < 20; user += 1) {
      calls.push(failureOf(nextvisit.track(track(`user ${user}`))))
      await sleep(10)
    }
    await Promise.all(calls)
    expect(requests.length).toBeLessThan(10)
  })
})

describe('an item that got no answer', () => {
  it.each([503, 409])('is sent again, alone and with its key, after %i', async (status) => {
    const { nextvisit, requests } = await givenClient(({ items }, count) =>
      recorded(items).map((result, index) => (count === 0 && index === 0 ? refused(status) : result)),
    )
    const results = await Promise.all([nextvisit.track(track('ada')), nextvisit.track(track('grace'))])
    expect(results.map((result) => result.status)).toEqual([202, 202])
    expect(requests.map(({ items }) => keysOf(items))).toEqual([
      keysOf(requests[0]?.items ?? []),
      keysOf(requests[0]?.items.slice(0, 1) ?? []),
    ])
  })

  it('is not overtaken by later calls of its user, and delays no other user', async () => {
    const { nextvisit, requests } = await givenClient(({ items }, count) =>
      recorded(items).map((result, index) => (count === 0 && index === 0 ? refused(503) : result)),
    )
    const settled: string[] = []
    const call = (userName: string, eventName: string) =>
      nextvisit.track(track(userName, eventName)).then(() => settled.push(eventName))
    const first = [call('ada', 'ada 1'), call('grace', 'grace 1')]
    while (requests.length === 0) await sleep(5)
    await first[1]
    await Promise.all([...first, call('ada', 'ada 2'), call('grace', 'grace 2')])
    expect(settled).toEqual(['grace 1', 'grace 2', 'ada 1', 'ada 2'])
    expect(requests.map(({ items }) => items.map(({ eventName }) => eventName))).toEqual([
      ['ada 1', 'grace 1'],
      ['grace 2'],
      ['ada 1', 'ada 2'],
    ])
  })
})

describe('the calls of one user', () => {
  it('are sent together, in order', async () => {
    const { nextvisit, requests } = await givenClient(takes)
    const calls = [
      nextvisit.identify({ userName: 'ada' }),
      nextvisit.track(track('ada')),
      nextvisit.track(track('grace')),
    ]
    await Promise.all(calls)
    expect(requests.map(({ items }) => items.map(({ userName }) => userName))).toEqual([['ada', 'ada', 'grace']])
  })

  it('are never in two requests at the same time, but those of different users are', async () => {
    const { nextvisit, requests } = await givenClient(async ({ items }) => {
      if (items.some(({ eventName }) => eventName === 'slow')) await sleep(300)
      return recorded(items)
    })
    const slow = nextvisit.track(track('ada', 'slow'))
    while (requests.length === 0) await sleep(5)
    const next = nextvisit.track(track('ada', 'next'))
    await nextvisit.track(track('grace', 'at once'))
    await Promise.all([slow, next])
    expect(requests.map(({ items }) => items.map(({ eventName }) => eventName))).toEqual([
      ['slow'],
      ['at once'],
      ['next'],
    ])
  })
})

describe('the queue', () => {
  it('rejects a call at once while it is full, and accepts calls again after answers', async () => {
    const { nextvisit } = await givenClient(takes, { maxQueued: 3 })
    const waiting = ['a', 'b', 'c'].map((userName) => nextvisit.track(track(userName)))
    const error = await failureOf(nextvisit.track(track('d')))
    expect(error).toMatchObject({ code: 'QUEUE_FULL', retryable: true, items: [{ userName: 'd' }] })
    await Promise.all(waiting)
    expect(await nextvisit.track(track('d'))).toMatchObject({ status: 202 })
  })

  it('is full by the bytes of the JSON in UTF-8 of calls that wait, are in flight or must be sent again', async () => {
    const bytes = Buffer.byteLength(JSON.stringify({ ...largeCall('a'), type: 'track' }))
    let isDown = true
    const { nextvisit, requests } = await givenClient(
      ({ items }) => (isDown ? items.map(() => refused(503)) : recorded(items)),
      { maxQueuedBytes: 3 * bytes },
    )
    const waiting = [nextvisit.track(largeCall('a'))]
    while (requests.length === 0) await sleep(5)
    waiting.push(nextvisit.track(largeCall('b')))
    while (requests.length < 2) await sleep(5)
    waiting.push(nextvisit.track(largeCall('c')))
    expect(await failureOf(nextvisit.track(largeCall('d')))).toMatchObject({
      code: 'QUEUE_FULL',
      message: `3 calls are already waiting for an answer with ${3 * bytes} bytes, and this one has ${bytes}: maxQueuedBytes is ${3 * bytes}`,
      retryable: true,
      items: [largeCall('d')],
    })
    isDown = false
    expect(await Promise.all(waiting)).toMatchObject([{ status: 202 }, { status: 202 }, { status: 202 }])
    expect(await nextvisit.track(largeCall('d'))).toMatchObject({ status: 202 })
  })

  it('has at most 64 MiB by default', async () => {
    const { nextvisit } = await givenClient(() => 'hang')
    const properties = { pad: 'x'.repeat(90_000) }
    const call = (at: number) => ({ userName: `user-${at % 10}`, eventName: 'a', properties, idempotencyKey: 'k' })
    const bytes = Buffer.byteLength(JSON.stringify({ ...call(0), type: 'track' }))
    const full: number[] = []
    for (let at = 0; at < 1_000; at += 1)
      nextvisit.track(call(at)).catch(({ code }: NextvisitError) => code === 'QUEUE_FULL' && full.push(at))
    await sleep(0)
    expect(full[0]).toBe(Math.floor((64 * 1_024 ** 2) / bytes))
    expect(full).toHaveLength(1_000 - Math.floor((64 * 1_024 ** 2) / bytes))
  })

  it('keeps only the JSON of a call, not the object of the caller', async () => {
    const { nextvisit } = await givenClient(() => 'hang')
    const given = Array.from({ length: 3 }, () => {
      const properties = { pad: 'x' }
      void nextvisit.track({ ...track('ada'), properties })
      return new WeakRef(properties)
    })
    await sleep(20)
    collectGarbage()
    expect(given.map((one) => one.deref())).toEqual([undefined, undefined, undefined])
  })

  it('reports a rejected promise that is not awaited to onUnsent, and the process continues', async () => {
    const errors: NextvisitError[] = []
    const { nextvisit } = await givenClient(takes, { maxQueued: 0, onUnsent: (error) => errors.push(error) })
    void nextvisit.track(track('ada'))
    await sleep(20)
    expect(errors).toMatchObject([{ code: 'QUEUE_FULL' }])
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('a bug of the caller')
      },
    ],
    ['rejects', () => Promise.reject(new Error('a bug of the caller'))],
  ])('continues if onUnsent or onRefused %s', async (_how, report) => {
    const onUnsent = vi.fn<() => unknown>(report)
    const full = await givenClient(takes, { maxQueued: 0, onUnsent })
    void full.nextvisit.track(track('ada'))
    const onRefused = vi.fn<() => unknown>(report)
    const refusing = await givenClient(() => refusal(401), { onRefused })
    expect(await refusing.nextvisit.track(track('ada'))).toMatchObject({ status: 401 })
    expect([onUnsent.mock.calls.length, onRefused.mock.calls.length]).toEqual([1, 1])
  })
})

describe('a refusal of a promise that is not awaited', () => {
  it('is reported to onRefused, with its call', async () => {
    const onRefused = vi.fn<NonNullable<NextvisitOptions['onRefused']>>()
    const { nextvisit } = await givenClient(
      ({ items }) => items.map(({ userName }) => refused(userName === 'ada' ? 404 : 202)),
      { onRefused },
    )
    for (const userName of ['ada', 'grace']) void nextvisit.track(track(userName))
    void nextvisit.track({ ...track('joan'), properties: { pad: 'x'.repeat(512_000) } })
    await nextvisit.flush()
    expect(onRefused.mock.calls.map(([{ status }, item]) => [status, item.userName])).toEqual([
      [413, 'joan'],
      [404, 'ada'],
    ])
    expect(onRefused.mock.calls[1]?.[1]).toEqual({ ...track('ada'), type: 'track', idempotencyKey: expect.any(String) })
  })

  it('is final for a suppressed user: it is reported once, not sent again, and delays nobody else', async () => {
    const onRefused = vi.fn<NonNullable<NextvisitOptions['onRefused']>>()
    const suppressed = { ...refused(403), message: 'User is suppressed' }
    const { nextvisit, requests } = await givenClient(
      ({ items }) => items.map(({ userName }) => (userName === 'ada' ? suppressed : refused(202))),
      { onRefused },
    )
    const [ada, again, grace] = ['ada', 'ada', 'grace'].map((userName) => nextvisit.track(track(userName)))
    await nextvisit.flush()
    expect(await ada).toMatchObject({ status: 403, message: 'User is suppressed' })
    expect([(await again)?.status, (await grace)?.status]).toEqual([403, 202])
    expect(onRefused.mock.calls.map(([{ message }]) => message)).toEqual(['User is suppressed', 'User is suppressed'])
    expect(requests.flatMap(({ items }) => items)).toHaveLength(3)
  })

  it('is a line on the console without onRefused, one for all refusals', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    onTestFinished(() => warn.mockRestore())
    const { nextvisit } = await givenClient(() => refusal(401, 'Invalid or missing API key'))
    for (const userName of ['ada', 'grace']) void nextvisit.identify({ userName })
    await nextvisit.flush()
    expect(warn.mock.calls).toEqual([
      [expect.stringContaining('identify was refused with 401: Invalid or missing API key')],
    ])
  })
})

describe('flush', () => {
  it('sends at once and resolves with the last answer', async () => {
    const { nextvisit, requests } = await givenClient(takes, { maxBatchDelayMs: 60_000 })
    const calls = [nextvisit.track(track('ada')), nextvisit.track(track('grace'))]
    await nextvisit.flush()
    expect(requests).toHaveLength(1)
    await Promise.all(calls)
    await nextvisit.flush()
  })

  it('rejects with the unanswered calls', async () => {
    const { nextvisit } = await givenClient(
      ({ items }) => items.map(({ userName }) => (userName === 'ada' ? refused(503) : { status: 202 })),
      { deadlineMs: 300 },
    )
    void nextvisit.track(track('ada'))
    void nextvisit.track(track('grace'))
    const error = await failureOf(nextvisit.flush())
    expect(error).toMatchObject({ code: 'UNSENT', message: '1 of 2 calls had no answer', items: [{ userName: 'ada' }] })
  })
})

describe('close', () => {
  it('sends waiting calls, and accepts no more', async () => {
    const { nextvisit, requests } = await givenClient(takes, { maxBatchDelayMs: 60_000 })
    const call = nextvisit.track(track('ada'))
    const closed = nextvisit.close()
    expect(await failureOf(nextvisit.track(track('grace')))).toMatchObject({ code: 'CLOSED', retryable: false })
    await Promise.all([closed, call, nextvisit.close()])
    expect(requests).toHaveLength(1)
  })

  it('closes nothing if its argument is invalid', async () => {
    const { nextvisit } = await givenClient(takes)
    const call = nextvisit.track(track('ada'))
    expect(await failureOf(nextvisit.close({ withinMs: Infinity }))).toMatchObject({ code: 'INVALID' })
    expect(await Promise.all([call, nextvisit.track(track('grace'))])).toMatchObject([{ status: 202 }, { status: 202 }])
  })

  it('rejects in time with every unsent call, and ends the requests in flight', async () => {
    const { host, requests, open } = await givenScriptedGateway(() => 'hang')
    const nextvisit = createNextvisit({ host, key: 'k' })
    const calls = Array.from({ length: 1_500 }, (_, index) => failureOf(nextvisit.track(track(`user ${index}`))))
    while (requests.length < 2) await sleep(5)
    const error = await failureOf(nextvisit.close({ withinMs: 50 }))
    expect(error).toMatchObject({ code: 'UNSENT', message: '1500 of 1500 calls had no answer' })
    expect(error.items).toHaveLength(1_500)
    expect(await failureOf(nextvisit.close())).toBe(error)
    expect(new Set((await Promise.all(calls)).map(({ code }) => code))).toEqual(new Set(['UNANSWERED']))
    while (open() > 0) await sleep(5)
  })
})

describe('users.get', () => {
  it('reads a user by any name, and retries', async () => {
    const { nextvisit, requests } = await givenClient((_, count) =>
      count === 0 ? refusal(503) : { status: 200, body: { userId: 'u', userName: 'a/b?&ü' } },
    )
    expect(await nextvisit.users.get('a/b?&ü')).toEqual({ status: 200, userId: 'u', userName: 'a/b?&ü' })
    const { pathname, searchParams } = new URL(requests[1]?.path ?? '', 'http://x')
    expect([pathname, searchParams.get('userName')]).toEqual(['/v2/admin/users', 'a/b?&ü'])
  })

  it('resolves to a refusal, and rejects at the deadline', async () => {
    const unknown = await givenClient(() => refusal(404, 'User not found'))
    expect(await unknown.nextvisit.users.get('ada')).toMatchObject({ status: 404, message: 'User not found' })
    const down = await givenClient(() => 'cut', { deadlineMs: 300 })
    expect(await failureOf(down.nextvisit.users.get('ada'))).toMatchObject({ code: 'UNANSWERED', retryable: true })
  })
})
