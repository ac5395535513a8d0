import { SegmentsPage, SegmentUsersPage } from '@nextvisit/contracts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GatewayFixture, startGateway } from '../../test/gateway-fixture.ts'
import { startService } from '../../test/service-fixture.ts'

const INSTANT = '2026-11-02T10:00:00.000Z'
const ADA = 'c364d31e-5b0f-5a9e-8f5d-0c2f6a1b7e44'

describe('GET /v2/admin/segments (decisions.md, Beyond the document)', () => {
  let gateway: GatewayFixture
  let service: Awaited<ReturnType<typeof startService>>
  beforeAll(async () => {
    service = await startService({
      readSegments: async ({ segments }) => ({
        segments: segments.map(({ id }) => ({ members: id.length, usersComputed: 3 })),
        usersTotal: 9,
      }),
      readSegmentMembers: async ({ limit }) => ({
        users: [{ userId: ADA, userName: 'ada', since: INSTANT }],
        next: limit === 1 ? ADA : null,
      }),
      readUser: async ({ userId }) => ({
        userId,
        userName: 'ada',
        traits: {},
        country: null,
        device: {},
        firstSeenAt: INSTANT,
        lastSeenAt: INSTANT,
        events: {},
        segments: ['paying', 'removed'],
      }),
      readQueue: async () => ({ waiting: [] }),
    })
    gateway = await startGateway({
      project: {
        segments: [
          { id: 'paying', name: 'Paying customers', where: { trait: 'plan', is: 'pro' } },
          { id: 'active', where: { event: 'a', atLeast: 1, within: '7d' } },
          { id: 'lost', where: { not: { segment: 'active' } } },
        ],
      },
      services: { 'user-projector': service.url, 'form-trigger-evaluator': service.url },
    })
  })
  afterAll(async () => {
    await gateway.stop()
    await service.stop()
  })

  it('lists segments by id with members and progress, each by its present fingerprint', async () => {
    const page = SegmentsPage.parse((await gateway.get('/v2/admin/segments')).body)
    const progress = { usersComputed: 3, usersTotal: 9 }
    expect(page).toEqual({
      segments: [
        { id: 'active', name: null, members: 6, ...progress },
        { id: 'lost', name: null, members: 4, ...progress },
        { id: 'paying', name: 'Paying customers', members: 6, ...progress },
      ],
      next: null,
    })
    const fingerprint = expect.stringMatching(/^[0-9a-f]{32}$/)
    expect(service.calls.at(-1)?.question).toMatchObject({
      segments: ['active', 'lost', 'paying'].map((id) => ({ id, fingerprint })),
    })
  })

  it('lists segments in pages', async () => {
    const first = SegmentsPage.parse((await gateway.get('/v2/admin/segments?limit=2')).body)
    const last = SegmentsPage.parse((await gateway.get(`/v2/admin/segments?limit=2&after=${first.next}`)).body)
    expect([first, last].map(({ segments, next }) => [segments.map(({ id }) => id), next])).toEqual([
      [['active', 'lost'], 'lost'],
      [['paying'], null],
    ])
  })

  it('lists the users of a segment in pages', async () => {
    const page = SegmentUsersPage.parse((await gateway.get('/v2/admin/segments/paying/users?limit=1')).body)
    expect(page).toEqual({ users: [{ userId: ADA, userName: 'ada', since: INSTANT }], next: ADA })
    const last = SegmentUsersPage.parse((await gateway.get(`/v2/admin/segments/paying/users?after=${ADA}`)).body)
    expect(last.next).toBeNull()
    expect(service.calls.at(-1)?.question).toMatchObject({ segmentId: 'paying', limit: 100, after: ADA })
  })

  it.each(['nothing', '__proto__', 'Paying', '%00'])('answers 404 for %s, which is not a segment', async (id) => {
    const { status, body } = await gateway.get(`/v2/admin/segments/${id}/users`)
    expect(status).toBe(404)
    expect(body).toEqual({ status: 404, error: 'Not Found', message: 'Segment not found' })
  })

  it.each([
    'segments?limit=0',
    'segments?after=%00',
    'segments/paying/users?limit=x',
    'segments/paying/users?after=ada',
  ])('answers 400 for %s', async (path) => expect((await gateway.get(`/v2/admin/${path}`)).status).toBe(400))

  it('answers 503 with Retry-After while the user projector is unavailable', async () => {
    const alone = await startGateway({ besides: gateway })
    const answers = [await alone.get('/v2/admin/segments'), await alone.get('/v2/admin/segments/paying/users')]
    await alone.stop()
    const told = answers.map(({ status, headers }) => [status, headers['retry-after']])
    expect(told).toEqual([
      [503, '1'],
      [503, '1'],
    ])
  })

  it('omits from a user the segments that the workspace no longer has', async () => {
    expect((await gateway.get('/v2/admin/users/ada')).body).toMatchObject({ segments: ['paying'] })
  })
})
