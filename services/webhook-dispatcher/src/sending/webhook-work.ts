import { readNextOffsets, type WorkParts } from '@nextvisit/consumer'
import { TOPICS } from '@nextvisit/contracts'
import type { ServicePart } from '@nextvisit/service-kit'
import type { WorkConfig } from '../config.ts'
import type { Listeners } from '../listeners.ts'
import { createCapture, createCaptureClients, createHeardCapture } from './capture.ts'
import { createConnector } from './connector.ts'
import { createEndpoints } from './endpoints.ts'
import { createFoldedPartitions } from './folded-partitions.ts'
import { createSender } from './sender.ts'
import { createWebhookMetrics } from './webhook-metrics.ts'

type WebhookWorkConfig = Pick<
  WorkConfig,
  'networks' | 'isHttpAllowed' | 'retryDelaysMs' | 'keyRing' | 'services' | 'internalServer'
>

/** Creates the dispatcher's work beside its fold: it sends the deliveries that the fold and its ticks have written. */
export function createWebhookWork(
  { networks, isHttpAllowed, retryDelaysMs, keyRing, services, internalServer }: WebhookWorkConfig,
  parts: WorkParts & { readonly listeners: Listeners },
): readonly ServicePart[] {
  const { db, catalog, logAdmin, owns, countKeyPartitions, tracing, logger, now } = parts
  const clients = createCaptureClients(services, internalServer.token)
  parts.listeners.completeWith(createHeardCapture(clients.answers))
  const connector = createConnector({ networks, isHttpAllowed })
  const sender = createSender({
    db,
    endpoints: createEndpoints({ catalog, keyRing, connector, logger }),
    capture: createCapture({ db, now, ...clients }),
    owns,
    foldedOf: createFoldedPartitions({
      readEnds: async () => {
        const marks = await logAdmin.watermarks(TOPICS.formEvents)
        return new Map(Array.from(marks, ([partition, { high }]) => [partition, high]))
      },
      readFolded: () => readNextOffsets(db, 'webhook-dispatcher', TOPICS.formEvents),
    }),
    countPartitions: () => countKeyPartitions(TOPICS.formEvents),
    retryDelaysMs,
    onAttempt: (outcome) => metrics.countAttempt(outcome),
    tracing,
    logger,
    now,
  })
  const metrics = createWebhookMetrics({ ...parts, inFlight: sender.inFlight })
  return [{ name: 'deliveries', start: sender.start, stop: sender.stop }]
}
