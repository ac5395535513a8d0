import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { organizationConfig } from '@nextvisit/contracts/fixtures'
import { createApiKey, hashApiKey } from '@nextvisit/domain'
import { createLogger } from '@nextvisit/service-kit'
import type { AnswerRequestParts } from '../src/http/answer-request.ts'
import { REQUEST_BUDGET_MS } from '../src/http/request-budget.ts'

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
    catalog: staticCatalog([organizationConfig({ id: 'acme', projects: [{ id: 'shop', keys: [...keys] }] })]),
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
