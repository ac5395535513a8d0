import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { call, callerOf, errorOf, JSON_TYPE } from './call.ts'
import { keyNamed } from '@nextvisit/testing/black-box'

const BODY = { userName: 'ada' }

/** Returns a body of this many bytes as JSON, padded with an ignored member. */
function bodyOf(bytes: number): object {
  const filling = 'x'.repeat(Math.max(0, bytes - JSON.stringify({ ...BODY, filling: '' }).length))
  return { ...BODY, filling }
}

/** Tests the contract, Limits (rate limits); decisions.md, Busy and broken. Buckets of 3 (admin) and 2 (sdk) hardly refill. */
export function describeRateLimits(): void {
  const slow = callerOf('SLOW_ADMIN_P', 'SLOW_SDK_P')

  describe('429 when exceeded', () => {
    it('exactly burst requests pass, and the next gets 429 with Retry-After', async () => {
      const answers = []
      for (let i = 0; i < 4; i += 1) answers.push(await slow.identify(BODY))
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429])
      expect(answers[3]).toMatchObject(errorOf(429))
      expect(Number(answers[3]?.headers['retry-after'])).toBeGreaterThan(60)
      for (const { headers } of answers) {
        expect(headers['ratelimit-policy']).toMatch(/q=3/)
        expect(headers['ratelimit']).toMatch(/r=\d/)
      }
      expect(answers.map(({ headers }) => /r=(\d+)/.exec(String(headers['ratelimit']))?.[1])).toEqual([
        '2',
        '1',
        '0',
        '0',
      ])
    })

    it('SDK requests have their own bucket, counted separately from admin', async () => {
      const statuses = []
      for (let i = 0; i < 3; i += 1) statuses.push((await slow.visit(BODY)).status)
      expect(statuses).toEqual([200, 200, 429])
    })

    it('each key has its own bucket, and of many parallel requests exactly burst pass', async () => {
      const spare = callerOf('SLOW_SPARE_ADMIN_P')
      const answers = await Promise.all(Array.from({ length: 12 }, () => spare.identify(BODY)))
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(3)
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(9)
    })

    it('comes after the kind of key and before Content-Type, size and JSON', async () => {
      const key = ['x-api-key', keyNamed('SLOW_ORDER_ADMIN_P')]
      const broken = (path: string) =>
        call({ path, headers: [...key, 'content-type', 'text/plain'], body: ' '.repeat(102_401) })
      const answers = []
      for (let i = 0; i < 4; i += 1) answers.push((await broken('/v2/admin/identify-user')).status)
      expect(answers).toEqual([415, 415, 415, 429])
      expect((await broken('/v2/sdk/identify-user')).status).toBe(403)
      expect((await broken('/v2/admin/nothing')).status).toBe(404)
    })

    it('a body of more than 8 KiB costs more than one token', async () => {
      const sizes = callerOf('SLOW_SIZES_ADMIN_P')
      const answers = []
      for (const bytes of [8_192, 8_193, 20]) answers.push(await sizes.identify(bodyOf(bytes)))
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
      expect(answers.map(({ headers }) => headers['ratelimit'])).toEqual(
        ['r=2', 'r=0', 'r=0'].map((left) => expect.stringContaining(left)),
      )
    })

    it('a body that costs more than burst passes when the bucket is full, and the bucket owes the rest', async () => {
      const large = callerOf('SLOW_LARGE_ADMIN_P')
      expect((await large.identify(bodyOf(102_400))).status).toBe(200)
      const refused = await large.identify(BODY)
      expect(refused.status).toBe(429)
      // 47 of 3 tokens were taken, so 44 are owed and one is needed, at 0.01 a second.
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(4_000)
    })

    it('applies to read routes; 401 and unknown routes use up nothing', async () => {
      expect((await slow.get('/v2/admin/usage')).status).toBe(429)
      expect((await call({ path: '/v2/admin/identify-user', headers: JSON_TYPE, body: '{}' })).status).toBe(401)
    })
  })

  it('a bucket is refilled at perSecond: after Retry-After the next request passes', async () => {
    const { identify } = callerOf('REFILLED_ADMIN_P')
    expect((await identify(BODY)).status).toBe(200)
    const refused = await identify(BODY)
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '1' } })
    await sleep(Number(refused.headers['retry-after']) * 1_000)
    expect((await identify(BODY)).status).toBe(200)
  })

  it('defaults: 100 per second and key with a burst of 200', async () => {
    const { headers } = await callerOf('', 'REFILLED_SDK_P').visit(BODY)
    expect(headers['ratelimit-policy']).toMatch(/q=200;w=2/)
  })

  it.each([
    '/v2/admin/users/nobody',
    '/v2/admin/users/nobody/forms',
    '/v2/admin/usage',
    '/v2/admin/traits',
    '/v2/admin/events',
  ])('RateLimit and RateLimit-Policy on GET %s', async (path) => {
    const { headers } = await callerOf('SHOP_ADMIN_P').get(path)
    expect(headers).toMatchObject({
      ratelimit: expect.stringContaining('r='),
      'ratelimit-policy': expect.stringContaining('q=10000'),
    })
  })
}
