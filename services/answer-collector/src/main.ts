/** Runs the consumer that consumer.ts describes. */
import { runConsumer } from '@nextvisit/consumer'
import { answerCollector } from './consumer.ts'

await runConsumer(answerCollector)
