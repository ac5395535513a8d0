/** Runs the consumer that consumer.ts describes. */
import { runConsumer } from '@nextvisit/consumer'
import { formTriggerEvaluator } from './consumer.ts'

await runConsumer(formTriggerEvaluator)
