/** Runs the consumer that consumer.ts describes, and its work. */
import { runConsumer } from '@nextvisit/consumer'
import { configOrExit } from '@nextvisit/service-kit'
import { readWorkConfig } from './config.ts'
import { listeners, webhookDispatcher } from './consumer.ts'
import { createWebhookWork } from './sending/webhook-work.ts'

const config = configOrExit(() => readWorkConfig())
await runConsumer(webhookDispatcher, {
  createWork: (parts) => createWebhookWork(config, { ...parts, listeners }),
  secretKeyIds: config.keyRing.keyIds,
})
