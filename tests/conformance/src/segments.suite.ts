import { readTopic } from '@nextvisit/testing/black-box'
import { describe, expect, it } from 'vitest'
import { callerOf, errorOf, UUID_V5 } from './call.ts'
import { product } from './product.ts'

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Waits for the effect of previous requests, which is immediate except on a very busy machine. */
const showsSoon = (read: () => Promise<unknown>, expected: unknown) =>
  expect.poll(read, { timeout: 10_000 }).toEqual(expected)

/** Tests forms.md, Conditions; decisions.md, Beyond the document: segments and their members. */
export function describeSegments(): void {
  const { identify, track, readUser, get } = callerOf('SEGMENTS_ADMIN_P')
  const setPlan = (userName: string, plan: string) => identify({ userName, userAttributes: { $set: { plan } } })
  const segmentsOf = async (userName: string) => (await readUser(userName)).body['segments']
  const rowsOf = async (segment: string) =>
    (await get(`/v2/admin/segments/${segment}/users`)).body['users'] as { userName: string; since: string }[]
  const sinceOf = async (userName: string, segment: string) =>
    (await rowsOf(segment)).find((row) => row.userName === userName)?.since
  const membersOf = async (segment: string) => (await rowsOf(segment)).map(({ userName }) => userName)

  describe('GET /v2/admin/segments and /v2/admin/segments/{segmentId}/users', () => {
    it('reflect an identify and an event at once, including old events', async () => {
      await setPlan('old', 'free')
      await showsSoon(() => segmentsOf('old'), [])
      await setPlan('old', 'pro')
      await showsSoon(() => segmentsOf('old'), ['lost', 'paying'])
      await track({ userName: 'old', eventName: 'Paid', occurredAt: new Date(Date.now() - 86_400_000).toISOString() })
      expect(await membersOf('returning')).toEqual([])
      await track({ userName: 'old', eventName: 'paid', occurredAt: new Date(Date.now() - 86_400_000).toISOString() })
      await showsSoon(() => membersOf('returning'), ['old'])
      await setPlan('old', 'free')
      await showsSoon(() => segmentsOf('old'), ['returning'])
    })

    it('reflect the clock within a minute: a window closes, and a segment that refers to it opens', async () => {
      await setPlan('short', 'pro')
      await showsSoon(() => segmentsOf('short'), ['lost', 'paying'])
      const before = await sinceOf('short', 'lost')
      expect(before).toMatch(INSTANT)
      await track({ userName: 'short', eventName: 'Paid' })
      // A later `since` proves that the user had left the segment: the event has counted.
      await expect
        .poll(() => sinceOf('short', 'lost'), { timeout: 60_000 })
        .toSatisfy((since?: string) => since !== undefined && since > String(before))
      expect(await membersOf('moment')).toEqual([])
      expect(await segmentsOf('short')).toEqual(['lost', 'paying'])
    })

    it('publish each change of a membership, with its cause', async () => {
      const { userId } = (await readUser('short')).body
      const changes = async () =>
        (await readTopic(product().brokers, 'form-events'))
          .map(({ value }) => value)
          .filter((value) => value['userId'] === userId && value['segmentId'] === 'lost')
      await showsSoon(
        async () => (await changes()).map(({ type, cause }) => `${String(type)} ${String(cause)}`),
        ['SegmentEntered record', 'SegmentLeft record', 'SegmentEntered time'],
      )
      expect((await changes()).at(-1)).toMatchObject({ at: await sinceOf('short', 'lost') })
    })

    it('show exactly the decided members', async () => {
      for (const userName of ['a', 'b', 'c']) await setPlan(userName, 'team')
      await showsSoon(async () => (await get('/v2/admin/segments?limit=1')).body, {
        segments: [expect.objectContaining({ usersComputed: 5, usersTotal: 5 })],
        next: 'lost',
      })
      const { status, body } = await get('/v2/admin/segments')
      expect(status).toBe(200)
      const progress = { usersComputed: 5, usersTotal: 5 }
      expect(body).toEqual({
        segments: [
          { id: 'lost', name: null, members: 1, ...progress },
          { id: 'moment', name: null, members: 0, ...progress },
          { id: 'paying', name: 'Paying customers', members: 1, ...progress },
          { id: 'returning', name: null, members: 1, ...progress },
        ],
        next: null,
      })
      expect((await get('/v2/admin/segments/paying/users')).body).toEqual({
        users: [
          {
            userId: expect.stringMatching(UUID_V5),
            userName: 'short',
            since: expect.stringMatching(INSTANT),
          },
        ],
        next: null,
      })
    })

    it('are listed in pages', async () => {
      const first = (await get('/v2/admin/segments?limit=3')).body
      expect(first['next']).toBe('paying')
      expect((await get('/v2/admin/segments?limit=3&after=paying')).body).toMatchObject({
        segments: [{ id: 'returning' }],
        next: null,
      })
      for (const userName of ['a', 'b', 'c']) await setPlan(userName, 'pro')
      await showsSoon(async () => (await membersOf('paying')).toSorted(), ['a', 'b', 'c', 'short'])
      const seen: string[] = []
      for (let after: string | null = ''; after !== null; ) {
        const { body } = await get(`/v2/admin/segments/paying/users?limit=1${after && `&after=${after}`}`)
        seen.push(...(body['users'] as { userName: string }[]).map(({ userName }) => userName))
        after = body['next'] as string | null
      }
      expect(seen.toSorted()).toEqual(['a', 'b', 'c', 'short'])
    })

    it.each(['nothing', 'PAYING', '..%2f'])('of %s: 404 Segment not found', async (segment) => {
      expect(await get(`/v2/admin/segments/${segment}/users`)).toMatchObject(errorOf(404, 'Segment not found'))
    })

    it.each([
      'segments?limit=0',
      'segments?after=%00',
      'segments/paying/users?limit=1001',
      'segments/paying/users?after=short',
    ])('%s: 400', async (path) => {
      expect(await get(`/v2/admin/${path}`)).toMatchObject(errorOf(400))
    })
  })
}
