import {
  ClaimRequest,
  DefinitionsQuery,
  INTERNAL_ROUTES,
  LeaseRequest,
  LookUpUsersRequest,
  ReleaseClaimsRequest,
  ReleaseRequest,
  ReserveRequest,
  ReturnLeasedRequest,
  SegmentMembersQuery,
  SegmentsQuery,
  UsageQuery,
  UserQuery,
} from '@nextvisit/contracts'
import { type Behind, createInternalServer, createLogger, internalRoute, type NotFound } from '@nextvisit/service-kit'
import { Registry } from 'prom-client'
import { z } from 'zod'
import { TEST_TOKEN } from './gateway-fixture.ts'

const BODIES = {
  [INTERNAL_ROUTES.lookUpUsers]: LookUpUsersRequest,
  [INTERNAL_ROUTES.reserve]: ReserveRequest,
  [INTERNAL_ROUTES.release]: ReleaseRequest,
  [INTERNAL_ROUTES.lease]: LeaseRequest,
  [INTERNAL_ROUTES.returnLeased]: ReturnLeasedRequest,
  [INTERNAL_ROUTES.claim]: ClaimRequest,
  [INTERNAL_ROUTES.releaseClaims]: ReleaseClaimsRequest,
  [INTERNAL_ROUTES.readUser]: UserQuery,
  [INTERNAL_ROUTES.readQueue]: UserQuery,
  [INTERNAL_ROUTES.readForms]: UserQuery,
  [INTERNAL_ROUTES.readSegments]: SegmentsQuery,
  [INTERNAL_ROUTES.readSegmentMembers]: SegmentMembersQuery,
  [INTERNAL_ROUTES.readUsage]: UsageQuery,
  [INTERNAL_ROUTES.readDefinitions]: DefinitionsQuery,
} as const
type Path = keyof typeof BODIES

export type ServiceAnswers = {
  [P in Path]?: (body: z.infer<(typeof BODIES)[P]>) => Promise<object | NotFound | Behind>
}

/** A real internal server that speaks internal-api as a service does, with answers that a test chooses. */
export async function startService(answers: ServiceAnswers) {
  const calls: { readonly path: string; readonly body: unknown }[] = []
  const routes = Object.entries(answers).map(([path, answer]) =>
    internalRoute(path, z.unknown(), async (body) => {
      const schema: z.ZodType = BODIES[path as Path]
      calls.push({ path, body })
      return (answer as (body: unknown) => Promise<object | NotFound | Behind>)(schema.parse(body))
    }),
  )
  const server = createInternalServer({
    host: '127.0.0.1',
    port: 0,
    token: TEST_TOKEN,
    routes,
    isLive: () => ({ status: 'available' }),
    isReady: () => ({ status: 'available' }),
    metrics: new Registry(),
    logger: createLogger('service', 'silent'),
  })
  const { port } = await server.start()
  return { url: `http://127.0.0.1:${port}`, calls, stop: server.stop }
}
