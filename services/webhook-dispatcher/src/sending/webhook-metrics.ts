import type { CatalogView, EndpointRef } from '@nextvisit/catalog'
import { createReadGauges, type WorkParts } from '@nextvisit/consumer'
import { AttemptOutcome } from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import { LIVE_STREAM } from '@nextvisit/domain'
import { Counter } from '@nextvisit/service-kit'
import { Gauge } from 'prom-client'
import { endpointsOf } from '../endpoints.ts'
import { endpoints } from '../tables.ts'

/** Bounds the samples of a scrape. */
const MAX_ENDPOINTS = 1_000

type WebhookMetricsParts = Pick<WorkParts, 'db' | 'metrics' | 'now'> & {
  readonly catalog: Pick<CatalogView, 'projects'>
  /** Number of requests in flight in this process. */
  readonly inFlight: () => number
}

/**
 * Registers the metrics of webhooks (metrics.md, Webhook dispatcher). Each process reports the same gauges of endpoints. Returns a
 * function that counts an attempt.
 */
export function createWebhookMetrics({ db, metrics, now, catalog, inFlight }: WebhookMetricsParts) {
  const { register } = createReadGauges(metrics, () => readEndpointGauges(db, refsOf(catalog), now()))
  register(
    {
      name: 'nextvisit_webhooks_oldest_seconds',
      help: 'Age of the oldest record that is not delivered to an endpoint, in a replay since the replay; 0 if there is none',
      labelNames: ['organization', 'project', 'endpoint'],
    },
    (gauge, { oldest }) => {
      for (const { organization, project, endpointId, ageSeconds } of oldest)
        gauge.set({ organization, project, endpoint: endpointId }, ageSeconds)
    },
  )
  register(
    {
      name: 'nextvisit_webhooks_disabled_endpoints',
      help: 'Endpoints that a 410 or five days of failures have disabled',
      labelNames: [],
    },
    (gauge, { disabled }) => gauge.set(disabled),
  )
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
async function readEndpointGauges(db: Db, refs: readonly EndpointRef[], now: Date) {
  if (refs.length === 0) return { oldest: [], disabled: 0 }
  const rows = await db.$queryRaw<(EndpointRef & { oldestAt: Date | null; isDisabled: boolean })[]>(sql`
    SELECT organization, project, endpoint_id AS "endpointId", disabled_at IS NOT NULL AS "isDisabled", oldest.at AS "oldestAt"
    FROM ${endpoints.source('asked', refs)}
    LEFT JOIN endpoints USING (organization, project, endpoint_id)
    LEFT JOIN LATERAL (
      SELECT CASE WHEN replay_id = ${LIVE_STREAM}::uuid THEN at ELSE created_at END AS at FROM deliveries AS own
      WHERE (own.organization, own.project, own.endpoint_id) = (asked.organization, asked.project, asked.endpoint_id)
        AND own.status = 'pending'
      ORDER BY created_at LIMIT 1
    ) AS oldest ON TRUE`)
  const ageOf = (at: Date | null) => (at ? Math.max(0, (now.getTime() - at.getTime()) / 1_000) : 0)
  return {
    oldest: rows.map(({ oldestAt, ...ref }) => ({ ...ref, ageSeconds: ageOf(oldestAt) })),
    disabled: rows.filter(({ isDisabled }) => isDisabled).length,
  }
}
