/** Runs the consumer that consumer.ts describes. */
import { runConsumer } from '@nextvisit/consumer'
import { webhookDispatcher } from './consumer.ts'

await runConsumer(webhookDispatcher)
