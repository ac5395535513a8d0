import { beforeAll, describe, expect, it } from 'vitest'
import { callerOf, errorOf } from './call.ts'
import { type Case, casesOf, describeCases, rowsOf } from './describe-cases.ts'
import { sendersOf, rejected } from './senders.ts'

const NO_USER = { expected: errorOf(404, 'User not found') }
const EXHAUSTED = { expected: errorOf(402, 'Event tracking limit reached for this organization') }
const NO_ROOM = { expected: errorOf(400, 'Unique tracked events limit reached for your plan') }
const NO_USER_NAME = {
  expected: errorOf(401, 'userName not found'),
  bySegment: rejected(400, 'userId or anonymousId must be given'),
}
const NO_MAU = 'Monthly active users limit reached for your plan'

const by = (userName: string) => ({ userName, eventName: 'timed' })
const called = (eventName: string) => ({ userName: 'policy', eventName })
const unknown = (member: object) => ({ ...by('nobody'), ...member })
const body = (given: object) => given

const EVENTS: readonly Case[] = [
  ...casesOf('track', rowsOf(['nobody', 'Policy', 'policy ', ' policy']), by, NO_USER),
  ...casesOf('track', rowsOf(['legacy_click', 'Legacy Click', 'LEGACY-CLICK', ' legacy click ']), called, {
    expected: errorOf(400, expect.stringContaining('disabled')),
  }),
  ...casesOf('track', [['user exists (404) before event disabled', { eventName: 'legacy_click' }]], unknown, NO_USER),
  ...casesOf(
    'track',
    rowsOf([
      { eventName: '' },
      { eventName: 'form:x' },
      { eventName: '--' },
      { occurredAt: 'x' },
      { properties: 1 },
    ]).map(([name, value]) => [`body rules before the user (404), ${name}`, value] as const),
    unknown,
    { expected: errorOf(400) },
  ),
]

const ORDER: readonly Case[] = [
  ...casesOf(
    'identify',
    [
      [
        'userName before attributes and device',
        { userName: '', userAttributes: { $nothing: {} }, $deviceInfo: { $countryCode: 'XX' } },
      ],
    ],
    body,
    NO_USER_NAME,
  ),
  ...casesOf(
    'identify',
    [
      ['unstorable strings before userName', { userName: '', x: '\u0000' }],
      ['depth before userName', { x: [[[[[[[[[]]]]]]]]] }],
    ],
    body,
    { expected: errorOf(400, expect.stringContaining('The body must')) },
  ),
]

const QUOTA: readonly Case[] = [
  ...casesOf(
    'identify',
    rowsOf([{ userName: 'ada' }, { userName: 'ada', userAttributes: { $set: { leaked: 1 } } }]),
    body,
    {
      expected: errorOf(400, NO_MAU),
    },
  ),
  ...casesOf('identify', [['userName before the quota', { userName: '' }]], body, NO_USER_NAME),
  ...casesOf(
    'identify',
    [['the country before the quota', { userName: 'sixth', $deviceInfo: { $countryCode: 'XX' } }]],
    body,
    { expected: errorOf(400, 'invalid country passed'), bySdk: errorOf(400, NO_MAU) },
  ),
  // Segment's routes first identify the user.
  ...casesOf('track', [['an event of a refused user', 'ada']], by, {
    ...NO_USER,
    bySegment: rejected(400, NO_MAU),
  }),
]

/** Tests refusals by policy and their order: the contract, Errors; decisions.md, Order of checks. */
export function describePolicy(): void {
  describe('policy, through every route', () => {
    beforeAll(async () => {
      for (const project of ['CLOSED', 'NO_EVENTS', 'NO_NAMES'])
        await callerOf(`${project}_ADMIN_P`).identify({ userName: 'policy' })
    })

    describeCases('events: unknown users, disabled events', 'CLOSED', EVENTS)
    describeCases('order of the rules of the body', 'SHOP', ORDER)
    describeCases('no event is left (402)', 'NO_EVENTS', [
      ...casesOf('track', rowsOf(['One', 'Two']), called, EXHAUSTED),
      ...casesOf('track', [['user exists (404) before metering', 'nobody']], by, NO_USER),
    ])
    describeCases('no name is left (400)', 'NO_NAMES', [
      ...casesOf('track', rowsOf(['One', 'Two']), called, NO_ROOM),
      ...casesOf('track', [['user exists (404) before the cap', 'nobody']], by, NO_USER),
    ])
    describeCases('no monthly active user is left (400)', 'NO_USERS', QUOTA)
    describeCases('a project that requires signatures', 'SIGNED', [
      ...casesOf('identify', [['without a signature', 'ada']], (userName) => ({ userName }), {
        expected: { status: 200, body: { message: 'ok' } },
        bySdk: errorOf(401),
      }),
    ])
  })

  it('an event of an unknown user identifies them first, by Segment’s routes alone', async () => {
    const senders = sendersOf('SHOP')
    const event = { type: 'track', body: by('by-segment') } as const
    expect(await senders.single(event)).toMatchObject(NO_USER.expected)
    expect(await senders.segment(event)).toMatchObject({ status: 200 })
    expect(await senders.single(event)).toMatchObject({ status: 202 })
  })
}
