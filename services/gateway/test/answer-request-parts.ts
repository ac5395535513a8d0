import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { organizationConfig } from '@nextvisit/contracts/fixtures'
import { createApiKey, hashApiKey } from '@nextvisit/domain'
import { createLogger } from '@nextvisit/service-kit'
import { onTestFinished } from 'vitest'
import { type AnswerRequestParts, createAnswerRequest } from '../src/http/answer-request.ts'
import { REQUEST_BUDGET_MS } from '../src/http/request-budget.ts'
import type { Route } from '../src/http/route.ts'

/** Keys of the only project of {@link answerRequestParts}. */
export const KEY = createApiKey('admin', 'P', new Uint8Array(32))
export const SDK_KEY = createApiKey('sdk', 'P', new Uint8Array(32))

/** Parts without connections, for specs with routes of their own. */
export function answerRequestParts(parts: Partial<AnswerRequestParts> = {}): AnswerRequestParts {
  const keys = [
    { name: 'backend', kind: 'admin', environment: 'P', sha256: hashApiKey(KEY) },
    { name: 'web', kind: 'sdk', environment: 'P', sha256: hashApiKey(SDK_KEY) },
  ] as const
  return {
    catalog: staticCatalog([
      organizationConfig({ id: 'acme', plan: { eventsPerMonth: 1_000 }, projects: [{ id: 'shop', keys: [...keys] }] }),
    ]),
    rateLimiter: { take: async () => ({ isAllowed: true, remaining: 1, moreInSeconds: 1 }) },
    requestBudgetMs: REQUEST_BUDGET_MS,
    maxInFlight: 100,
    maxBodyBytesInFlight: 67_108_864,
    callerAddress: () => undefined,
    onAnswered: () => undefined,
    onRefused: () => undefined,
    logger: createLogger('spec', 'silent'),
    ...parts,
  }
}

/** Serves one route over HTTP until the test ends. Returns its URL. */
export async function givenRoute(route: Route, parts: AnswerRequestParts): Promise<string> {
  const answerRequest = createAnswerRequest(parts)
  const server = createServer(
    (request, response) => void answerRequest(route, new URLSearchParams(), request, response),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
