import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { audit, type AuditReport, type LedgerEntry, type ReadModel } from '@nextvisit/audit'
import { freePort } from '@nextvisit/local-stack'
import { type ConsumerName, consumers, type UserConsumerName, userConsumers } from '@nextvisit/services'
import { createFaultProxy, type FaultProxy } from '@nextvisit/testing'
import { startThrowAwayStack, type ThrowAwayStack } from '@nextvisit/testing/black-box'
import { createCampaignProjects, type CampaignProject, type LimitedProject } from './campaign-projects.ts'
import { provideHookSecret } from './config.ts'
import { startFlakyReceiver } from './flaky-receiver.ts'

/** Consumers of user-events. */
export const CONSUMER_NAMES: readonly UserConsumerName[] = userConsumers.map(({ name }) => name)

/** A consumer of records about users. */
export type FoldingConsumer = Exclude<ConsumerName, 'user-eraser'>
export const FOLDING_CONSUMERS: readonly FoldingConsumer[] = [
  ...CONSUMER_NAMES,
  'answer-collector',
  'webhook-dispatcher',
]

const COLLECT_ON_SIGNAL = pathToFileURL(path.join(import.meta.dirname, 'collect-on-signal.ts'))
const SERVICE_ENVIRONMENT = {
  NODE_OPTIONS: `--expose-gc --import=${COLLECT_ON_SIGNAL.href}`,
  // The shortest, so that an erasure completes within a fault.
  ERASURE_KEY_RETENTION: '10s',
  WEBHOOK_RETRY_DELAYS: '1s,1s,1s,5s,5s,5s,5s,5s,5s',
}

/** A stack with several projects, in which every process reaches Kafka through a proxy. */
export interface CampaignStack extends ThrowAwayStack {
  readonly projects: readonly CampaignProject[]
  readonly busy: CampaignProject
  readonly limited: LimitedProject
  readonly hostile: CampaignProject
  readonly proxy: FaultProxy
  /** Schemas by consumer. */
  readonly schemas: ReadonlyMap<ConsumerName, { readonly schema: string; readonly url: string }>
}

export async function startCampaignStack(options: { readonly isCheap?: boolean } = {}): Promise<CampaignStack> {
  provideHookSecret()
  const receiver = await startFlakyReceiver()
  const { projects, busy, limited, hostile, workspace } = createCampaignProjects(receiver.url)
  const port = await freePort()
  const proxy = createFaultProxy({ host: '127.0.0.1', port })
  await proxy.start()
  try {
    const kafkaPorts = { port, advertisedPort: proxy.addressFor().port }
    const stack = await startThrowAwayStack({
      ...options,
      workspace,
      kafkaPorts,
      serviceEnvironment: SERVICE_ENVIRONMENT,
    })
    const remove = async (): Promise<void> => {
      await stack.remove()
      await proxy.stop()
      await receiver.stop()
    }
    return { ...stack, remove, projects, busy, limited, hostile, proxy, schemas: schemasOf(stack) }
  } catch (error) {
    await proxy.stop()
    await receiver.stop()
    throw error
  }
}

function schemasOf({ databaseUrls }: ThrowAwayStack): CampaignStack['schemas'] {
  return new Map(
    consumers.map(({ name, schema, databaseVariable }) => {
      const url = databaseUrls.get(databaseVariable)
      if (url === undefined) throw new Error(`The stack has no database of ${name}`)
      return [name, { schema, url }] as const
    }),
  )
}

/** Runs the audit. It expects that every consumer has folded the whole log. */
export async function auditStack(stack: CampaignStack, ledger: readonly LedgerEntry[]): Promise<AuditReport> {
  const connection = { brokers: stack.brokers, clientId: 'audit' }
  const secrets = await readFile(path.join(stack.dataDirectory, 'secrets.json'), 'utf8')
  const { secretKey } = JSON.parse(secrets) as { secretKey: string }
  const readModels = [...stack.schemas].map(([service, own]): ReadModel => ({ service, ...own }))
  return audit({ connection, readModels, secretKey, ledger, isAtRest: true })
}
