/** The process of this consumer. What it is made of is in consumer.ts. */
import { runConsumer } from '@nextvisit/consumer'
import { traitRegistry } from './consumer.ts'

await runConsumer(traitRegistry)
