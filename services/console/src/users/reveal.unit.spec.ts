import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { organizationConfig } from '@nextvisit/contracts/fixtures'
import { expect, it } from 'vitest'
import { givenNoServices } from '../../test/given-no-services.ts'
import { callRoute, givenSession } from '../../test/given-session.ts'
import { createSegmentRoutes } from '../segments/routes.ts'
import { createUserRoutes } from './routes.ts'
import { createUsers } from './users.ts'

const config = organizationConfig({
  id: 'acme',
  projects: [{ id: 'shop', segments: [{ id: 'loyal', where: { trait: 'plan', is: 'pro' } }] }],
})
const lookups = staticCatalog([config])
const catalog = async () => ({ ...lookups, projects: () => [...lookups.projects()] })
const { projector, evaluator } = givenNoServices()
const routes = {
  ...createSegmentRoutes({ catalog, projector }),
  ...createUserRoutes({
    catalog,
    exportUser: () => Promise.reject(new Error('not asked')),
    readRefusals: async () => undefined,
    nowMs: () => 0,
    users: createUsers({
      connection: { brokers: [], clientId: 'test' },
      keyRing: undefined,
      projector,
      evaluator,
      partitionCount: 1,
      nowMs: () => 0,
    }),
  }),
}

const userId = '00000000-0000-4000-8000-000000000000'
const SEGMENT = 'revealSegment'
const USER = 'revealUser'

it.each([
  [SEGMENT, { organization: 'acme', project: 'shop', segmentId: 'loyal' }, 'acme/shop/segment loyal', 'answered'],
  [SEGMENT, { organization: 'acme', project: 'shop', segmentId: 'gone' }, 'acme/shop/segment gone', 'no-segment'],
  [SEGMENT, { organization: 'acme', project: 'gone', segmentId: 'loyal' }, 'acme/gone/segment loyal', 'no-project'],
  [USER, { organization: 'acme', project: 'shop', userId }, `acme/shop/${userId}`, 'answered'],
  [USER, { organization: 'acme', project: 'gone', userId }, `acme/gone/${userId}`, 'no-project'],
] as const)('%s of %o reveals only existing data: %s, %s', async (route, input, name, outcome) => {
  const session = givenSession('viewer')
  const result = await callRoute(routes[route], input, session)
  expect(result.outcome === 'refused' ? result.error : result.outcome).toBe(outcome)
  expect(session.revealed.has(name)).toBe(outcome === 'answered')
})
