import type { Consumer } from '@nextvisit/consumer'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import { consumers } from '@nextvisit/services'
import { logConnection } from '../environment/config.ts'
import { readKeyRing } from '../environment/key-ring.ts'
import { inConsumerDatabase } from '../environment/consumer-database.ts'
import type { ViewProblem, RunningViews } from '@nextvisit/catalog'
import { lagOf } from './lag.ts'
import { askPart, type PartAnswer } from './ask-part.ts'
import { type ConsumerState, readConsumer } from './read-consumer.ts'
import { readStoredKeys } from './stored-keys.ts'
import { type LogState, readLog } from './read-log.ts'
import { readWebhookHealth, type WebhookHealth } from './webhook-health.ts'

interface ConsumerStatus extends Omit<ConsumerState, 'checkpoints'> {
  readonly service: string
  /** Lag in records; null while the log is unavailable. */
  readonly lagRecords: number | null
  readonly lagSeconds: number | null
}

interface ServiceStatus {
  readonly service: string
  readonly processes: number
  /** True if all processes have the latest revision of every organization. */
  readonly hasCatalog: boolean
  /** Parts of the catalog that its processes do not understand. */
  readonly catalogProblems: readonly ViewProblem[]
}

/** Output of `nextvisit status --json`. */
export interface Status {
  readonly at: string
  readonly log: PartAnswer<
    Pick<LogState, 'changedTopics' | 'organizations' | 'secretKeys'> & { readonly services: readonly ServiceStatus[] }
  >
  readonly consumers: readonly (PartAnswer<ConsumerStatus> & { readonly service: string })[]
  readonly webhooks: WebhookHealth
  /** Fault of this command's NEXTVISIT_SECRET_KEY; null: none. */
  readonly keyRingFault: string | null
}

/** Reads the status of the log and of every consumer's database. Never rejects because of an unavailable part. */
export async function readStatus(env: EnvironmentVariables, now: Date): Promise<Status> {
  const ring = readKeyRing(env)
  const keyRingFault = ring.outcome === 'invalid' ? ring.message : null
  const stored = readStoredKeys(env)
  const [log, answers, webhooks] = await Promise.all([
    askPart(() => readLog(logConnection(env), ring.outcome === 'ok' ? ring.keyRing : undefined, stored, now)),
    Promise.all(
      consumers.map(async (consumer) => ({ service: consumer.name, part: await askConsumer(consumer, env) })),
    ),
    readWebhookHealth(env),
    stored,
  ])
  const statuses = answers.map(({ service, part }): Status['consumers'][number] => {
    if (part.status === 'away') return { service, ...part }
    const lag = log.status === 'available' ? lagOf(part.checkpoints, log.watermarks, now.getTime()) : undefined
    return {
      service,
      status: 'available',
      lagRecords: lag?.records ?? null,
      lagSeconds: lag?.seconds ?? null,
      deadLetters: part.deadLetters,
      outbox: part.outbox,
      alarms: part.alarms,
      leftSchemas: part.leftSchemas,
    }
  })
  if (log.status === 'away') return { at: now.toISOString(), log, consumers: statuses, webhooks, keyRingFault }
  const { changedTopics, organizations, secretKeys, services } = log
  return {
    at: now.toISOString(),
    log: { status: 'available', changedTopics, organizations, secretKeys, services: byService(services) },
    consumers: statuses,
    webhooks,
    keyRingFault,
  }
}

function askConsumer(consumer: Consumer, env: EnvironmentVariables) {
  return askPart(() => inConsumerDatabase(env, consumer, (client) => readConsumer(client, consumer)))
}

function byService({ current, lagging, silent, problems }: RunningViews): readonly ServiceStatus[] {
  const processes = Map.groupBy([...current, ...lagging, ...silent], serviceOf)
  const behind = new Set([...lagging, ...silent].map(serviceOf))
  return [...processes]
    .map(([service, names]) => ({
      service,
      processes: names.length,
      hasCatalog: !behind.has(service),
      catalogProblems: problems.filter(({ view }) => serviceOf(view) === service),
    }))
    .toSorted((a, b) => (a.service < b.service ? -1 : 1))
}

/** Returns the service of a process name: `gateway` for `gateway.1f2e…`. */
function serviceOf(name: string): string {
  return name.split('.')[0] ?? name
}
