import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { organizationConfig } from '@nextvisit/contracts/fixtures'
import { userIdOf } from '@nextvisit/domain'
import { createLogger } from '@nextvisit/service-kit'
import { describe, expect, it } from 'vitest'
import { givenNoServices } from '../../test/given-no-services.ts'
import { callRoute, givenSession } from '../../test/given-session.ts'
import { answered, refuse } from '../http/api-route.ts'
import { NOT_FOUND, noAnswerOf } from '../services.ts'
import { createErasureRoutes } from './routes.ts'

const AT = '2026-11-23T03:00:00.000Z'
const ERASURE = '01a2066e-3ec0-780c-9db5-05517574891e'
const shop = { organization: 'acme', project: 'shop' }
const ada = { ...shop, userId: userIdOf('acme', 'shop', 'ada') }
const lookups = staticCatalog([organizationConfig({ id: 'acme', projects: [{ id: 'shop' }] })])
const { gateway, eraser } = givenNoServices()

/** Creates the routes beside a gateway that takes requests, and an eraser that knows one erasure. */
function givenRoutes(own: Partial<typeof gateway> = {}) {
  const [asked, logged]: [object[], string[]] = [[], []]
  const routes = createErasureRoutes({
    catalog: async () => ({ ...lookups, projects: () => [...lookups.projects()] }),
    gateway: {
      ...gateway,
      requestErasure: async (question) => {
        asked.push(question)
        return answered({ outcome: 'requested', erasureId: ERASURE, requestedAt: AT, users: 1, unknown: 0 })
      },
      liftSuppression: async (question) => {
        asked.push(question)
        return answered({ outcome: question.userId === ada.userId ? 'lifted' : 'unknown' })
      },
      readSuppressions: async () => answered({ page: null }),
      ...own,
    },
    eraser: { ...eraser, readErasure: async () => refuse(404, NOT_FOUND, 'nothing') },
    logger: createLogger('console', 'info', { write: (line: string) => void logged.push(line) }),
  })
  const ask = (name: keyof typeof routes, input: object) => callRoute(routes[name], input, givenSession('operator'))
  const call = async (name: keyof typeof routes, input: object) => {
    const result = await ask(name, input)
    return result.outcome === 'refused' ? result.error : result.answer
  }
  return { asked, logged, ask, call }
}

describe('the erasure of a person', () => {
  it('is requested if the operator types the userName, and logged without it', async () => {
    const { asked, logged, call } = givenRoutes()
    expect(await call('eraseUser', { ...ada, userName: 'ada', suppress: true })).toEqual({ erasureId: ERASURE })
    expect(asked).toEqual([{ ...shop, userIds: [ada.userId], suppress: true }])
    expect(JSON.parse(logged[0] ?? '')).toMatchObject({ action: 'erasure requested', ...ada, erasureId: ERASURE })
    expect(logged.join('')).not.toContain('"ada"')
  })

  it.each([
    ['another name', { ...ada, userName: 'Ada', suppress: false }, 'another-name'],
    ['a name that is no text', { ...ada, userName: 'ada\ud800', suppress: false }, 'bad-input'],
    ['another project', { ...ada, project: 'blog', userName: 'ada', suppress: false }, 'no-project'],
  ])('is refused for %s', async (_, input, error) => {
    const { asked, call } = givenRoutes()
    expect(await call('eraseUser', input)).toBe(error)
    expect(asked).toEqual([])
  })

  it('is refused while it cannot be published', async () => {
    const unavailable = givenRoutes({
      requestErasure: async () => answered({ outcome: 'unavailable', erasureId: ERASURE }),
    })
    expect(await unavailable.call('eraseUser', { ...ada, userName: 'ada', suppress: false })).toBe('unavailable')
    const silent = givenRoutes({ requestErasure: async () => noAnswerOf('gateway') })
    expect(await silent.call('eraseUser', { ...ada, userName: 'ada', suppress: false })).toBe('no-answer')
  })

  it('is unknown in a project that has no such erasure', async () => {
    expect(await givenRoutes().call('readErasure', { ...shop, erasureId: ERASURE })).toBe('no-erasure')
  })
})

describe('a suppression', () => {
  it('is lifted by the userName', async () => {
    const { call } = givenRoutes()
    expect(await call('liftSuppression', { ...shop, userName: 'ada' })).toEqual({})
    expect(await call('liftSuppression', { ...shop, userName: 'eve' })).toBe('not-suppressed')
  })

  it('is not lifted for sure if the gateway cannot tell, and the answer says so', async () => {
    const { ask } = givenRoutes({ liftSuppression: async () => answered({ outcome: 'unavailable' }) })
    expect(await ask('liftSuppression', { ...shop, userName: 'ada' })).toMatchObject({
      error: 'unavailable',
      message: expect.stringMatching(/^The suppression is not lifted/),
    })
  })

  it('cannot be listed by a gateway that has not read the erasures', async () => {
    expect(await givenRoutes().call('listSuppressions', shop)).toBe('no-suppressions')
  })
})
