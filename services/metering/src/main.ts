/** Runs the consumer that consumer.ts describes. */
import { runConsumer } from '@nextvisit/consumer'
import { metering } from './consumer.ts'

await runConsumer(metering)
