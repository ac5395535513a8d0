/** Runs the consumer that consumer.ts describes. */
import { runConsumer } from '@nextvisit/consumer'
import { traitRegistry } from './consumer.ts'

await runConsumer(traitRegistry)
