import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import type { KeptRefusal } from '@nextvisit/contracts'
import { organizationConfig } from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { callRoute, givenSession } from '../../test/given-session.ts'
import { answered } from '../http/api-route.ts'
import { noAnswerOf } from '../services.ts'
import { usersApi } from './api.ts'
import { createUserRoutes } from './routes.ts'
import type { Users } from './users.ts'

const lookups = staticCatalog([organizationConfig({ id: 'acme', projects: [{ id: 'shop' }, { id: 'other' }] })])
const catalog = async () => ({ ...lookups, projects: () => [...lookups.projects()] })
const userId = '00000000-0000-4000-8000-000000000000'
const requestId = '01a2066e-3ec0-780c-9db5-05517574891e'
const user = { organization: 'acme', project: 'shop', userId }

const refusal: KeptRefusal = {
  id: '01a2066e-3ec0-780c-9db5-05517574891f',
  at: '2026-11-23T03:00:00.000Z',
  reason: 'user',
  status: 404,
  message: 'The user is unknown',
  route: '/v2/admin/track-event',
  requestId,
  key: { name: 'backend', kind: 'admin', environment: 'P' },
}

/** A log without records, a projector without users, and a silent evaluator. */
const users: Users = {
  readUser: async () => answered(undefined),
  readFence: async () => undefined,
  readForms: async () => noAnswerOf('form-trigger-evaluator'),
  readTriggerProgress: async () => new Map(),
  readLog: async () => ({
    facts: [],
    formFacts: [],
    reading: { partition: 0, records: 0, stopped: 'beginning', since: null },
  }),
  findRequest: async () => ({ outcome: 'missing' }),
}

type Name = keyof ReturnType<typeof createUserRoutes>

/** Calls a route. `kept` are the refusals of the project `other`. */
async function call(name: Name, input: object, kept?: readonly KeptRefusal[], own: Partial<Users> = {}) {
  const readRefusals = async ({ project }: { readonly project: string }) => kept && (project === 'other' ? kept : [])
  const routes = createUserRoutes({
    catalog,
    users: { ...users, ...own },
    exportUser: () => Promise.reject(new Error('not asked')),
    readRefusals,
    nowMs: () => 0,
  })
  return callRoute(routes[name], input, givenSession('operator'))
}

describe('a silent evaluator', () => {
  it('leaves the profile and the timeline, which reports its missing entries', async () => {
    expect(await call('readUser', user)).toMatchObject({ answer: { profile: null } })
    expect(await call('readTimeline', { ...user, depth: 1 })).toMatchObject({
      answer: {
        entries: [],
        gaps: [
          expect.stringContaining('form-trigger-evaluator does not answer'),
          expect.stringContaining('Requests that were refused are missing'),
        ],
      },
    })
    expect(await call('readUserForms', user)).toMatchObject({ outcome: 'refused', error: 'no-answer' })
  })
})

describe('a request that left no record', () => {
  const input = { organization: 'acme', project: 'shop', requestId }

  it('leads to the user of its refusal, in any project', async () => {
    const kept = [refusal, { ...refusal, userId }]
    expect(await call('findUser', input, kept)).toEqual(answered({ organization: 'acme', project: 'other', userId }))
  })

  it('is explained if it was refused before it named a user', async () => {
    const found = await call('findUser', input, [refusal])
    expect(found).toMatchObject({ error: 'refused-nobody', message: expect.stringContaining('The user is unknown') })
  })

  it('may have been refused while refusals cannot be read', async () => {
    expect(await call('findUser', input)).toMatchObject({ status: 503, error: 'no-refusals' })
  })

  it('may have left one if not all of the log was read', async () => {
    const madeAtMs = Date.parse('2026-11-23T03:00:00.000Z')
    const tooMany = { outcome: 'too-many-records', read: 50_123, fromMs: madeAtMs - 1_000, untilMs: madeAtMs } as const
    const own: Partial<Users> = { findRequest: async () => tooMany }
    const message = expect.stringMatching(
      `50,123 that were searched.* --from 2026-11-23T02:59:59.000Z --to 2026-11-23T03:00:00.000Z .*${requestId}$`,
    )
    const refused = { outcome: 'refused', error: 'not-all-read', message }
    expect(await call('findUser', input, [], own)).toMatchObject(refused)
    expect(await call('findUser', input, undefined, own)).toMatchObject(refused)
    expect(await call('findUser', input, [{ ...refusal, userId }], own)).toMatchObject({ outcome: 'answered' })
  })

  it('is not found if no refusal of it is kept', async () => {
    expect(await call('findUser', input, [])).toMatchObject({ error: 'no-request' })
  })
})

const searched = (userName: string) =>
  usersApi.findUser.input.safeParse({ organization: 'acme', project: 'shop', userName })

describe('the search for a userName', () => {
  it('takes every userName that the gateway takes: up to 255 characters of any size', () => {
    expect(['ada', '😀'.repeat(128), '😀'.repeat(255)].map((name) => searched(name).success)).toEqual([
      true,
      true,
      true,
    ])
    expect(searched('😀'.repeat(256)).success).toBe(false)
  })
})
