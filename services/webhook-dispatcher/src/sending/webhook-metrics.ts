import type { CatalogView, EndpointRef } from '@nextvisit/catalog'
import { createReadGauges, type WorkParts } from '@nextvisit/consumer'
import { AttemptOutcome } from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import { Counter } from '@nextvisit/service-kit'
import { Gauge } from 'prom-client'
import { endpointsOf } from '../endpoints.ts'
import { failingSinceOf } from '../failing-since.ts'
import { oldestPending } from '../oldest-pending.ts'
import { endpoints } from '../tables.ts'

/** Bounds the samples of a scrape. */
const MAX_ENDPOINTS = 1_000

type WebhookMetricsParts = Pick<WorkParts, 'db' | 'metrics' | 'now'> & {
  readonly catalog: Pick<CatalogView, 'projects'>
  /** Number of requests in flight in this process. */
  readonly inFlight: () => number
}

interface EndpointReading extends EndpointRef {
  readonly isDisabled: boolean
  readonly failingSeconds: number
  readonly oldestSeconds: number
}

const ENDPOINT_GAUGES: readonly {
  readonly name: string
  readonly help: string
  readonly read: (endpoint: EndpointReading) => number
}[] = [
  {
    name: 'nextvisit_webhooks_oldest_seconds',
    help: 'Age of the oldest record that is not delivered to an endpoint, in a replay since it was read, after a retry by hand since the retry; 0 if there is none',
    read: ({ oldestSeconds }) => oldestSeconds,
  },
  {
    name: 'nextvisit_webhooks_failing_seconds',
    help: 'Time for which every attempt to deliver to an endpoint has failed; 0 if the last one succeeded',
    read: ({ failingSeconds }) => failingSeconds,
  },
  {
    name: 'nextvisit_webhooks_disabled',
    help: '1: a 410 or five days of failures have disabled this endpoint',
    read: ({ isDisabled }) => (isDisabled ? 1 : 0),
  },
]

/**
 * Registers the metrics of webhooks (metrics.md, Webhook dispatcher). Each process reports the same gauges of endpoints. Returns a
 * function that counts an attempt.
 */
export function createWebhookMetrics({ db, metrics, now, catalog, inFlight }: WebhookMetricsParts) {
  const { register } = createReadGauges(metrics, () => readEndpointGauges(db, refsOf(catalog), now()))
  for (const { name, help, read } of ENDPOINT_GAUGES)
    register({ name, help, labelNames: ['organization', 'project', 'endpoint'] }, (gauge, rows) => {
      for (const row of rows) {
        const { organization, project, endpointId: endpoint } = row
        gauge.set({ organization, project, endpoint }, read(row))
      }
    })
  metrics.registerMetric(
    new Gauge({
      name: 'nextvisit_webhooks_in_flight',
      help: 'Requests to endpoints that this process waits for',
      registers: [],
      collect() {
        this.set(inFlight())
      },
    }),
  )
  const attempts = new Counter({
    name: 'nextvisit_webhooks_attempts_total',
    help: 'Attempts to deliver, by outcome',
    labelNames: ['outcome'],
    registers: [metrics],
  })
  for (const outcome of AttemptOutcome.options) attempts.inc({ outcome }, 0)
  return { countAttempt: (outcome: AttemptOutcome): void => attempts.inc({ outcome }) }
}

function refsOf(catalog: Pick<CatalogView, 'projects'>): readonly EndpointRef[] {
  return endpointsOf(catalog)
    .filter(({ webhook }) => webhook.enabled)
    .slice(0, MAX_ENDPOINTS)
}

/** Reads one row of each endpoint, however many deliveries are pending. */
async function readEndpointGauges(
  db: Db,
  refs: readonly EndpointRef[],
  now: Date,
): Promise<readonly EndpointReading[]> {
  if (refs.length === 0) return []
  const rows = await db.$queryRaw<EndpointRow[]>(sql`
    SELECT organization, project, endpoint_id AS "endpointId", disabled_at IS NOT NULL AS "isDisabled",
      ${failingSinceOf('endpoints', now)} AS "failingSince", oldest.undelivered_since AS "oldestAt"
    FROM ${endpoints.source('asked', refs)}
    LEFT JOIN endpoints USING (organization, project, endpoint_id)
    ${oldestPending('asked')}`)
  const secondsSince = (at: Date | null) => (at ? Math.max(0, (now.getTime() - at.getTime()) / 1_000) : 0)
  return rows.map(({ failingSince, oldestAt, ...endpoint }) => ({
    ...endpoint,
    failingSeconds: secondsSince(failingSince),
    oldestSeconds: secondsSince(oldestAt),
  }))
}

interface EndpointRow extends EndpointRef {
  readonly isDisabled: boolean
  readonly failingSince: Date | null
  readonly oldestAt: Date | null
}
