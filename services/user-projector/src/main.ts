/** Runs the consumer that consumer.ts describes. */
import { runConsumer } from '@nextvisit/consumer'
import { userProjector } from './consumer.ts'

await runConsumer(userProjector)
