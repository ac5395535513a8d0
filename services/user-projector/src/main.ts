/** The process of this consumer. What it is made of is in consumer.ts. */
import { runConsumer } from '@nextvisit/consumer'
import { userProjector } from './consumer.ts'

await runConsumer(userProjector)
