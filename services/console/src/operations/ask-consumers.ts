import { INTERNAL_ROUTES, OperationsAnswer } from '@nextvisit/contracts'
import { createInternalClient } from '@nextvisit/service-kit'
import type { Target } from '../metrics/sample.ts'
import type { ProcessOperations } from './consumer-operations.ts'

/** What the processes of each consumer said, by its name. */
export type ConsumersOperations = ReadonlyMap<string, readonly ProcessOperations[]>
export type AskConsumers = () => Promise<ConsumersOperations>

export interface AskConsumersOptions {
  /** The processes of the consumers. */
  readonly targets: readonly Target[]
  readonly token: string
}

const ANSWER_WITHIN_MS = 2_000

/** Asks every process of every consumer at once. */
export function createAskConsumers({ targets, token }: AskConsumersOptions): AskConsumers {
  const clients = targets.map(({ service, url }) => ({
    service,
    url,
    client: createInternalClient({ baseUrls: [url], token, timeoutMs: ANSWER_WITHIN_MS }),
  }))
  return async () => {
    const answers = await Promise.all(
      clients.map(async ({ service, url, client }) => {
        const asked = await client.call(INTERNAL_ROUTES.readOperations, {}, OperationsAnswer)
        return { service, url, answer: asked.outcome === 'answered' ? asked.answer : undefined }
      }),
    )
    return Map.groupBy(answers, ({ service }) => service)
  }
}
