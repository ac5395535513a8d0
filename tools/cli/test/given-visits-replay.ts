import type { GivenLog } from '@nextvisit/consumer/test/given-log.ts'
import { visitsConsumer } from '@nextvisit/consumer/test/visits-consumer.ts'
import { givenReplay } from './given-replay.ts'

/** Creates the example's live read models over the test's log, and replays of them. */
export function givenVisitsReplay({ topic, connection }: GivenLog) {
  return givenReplay(visitsConsumer(topic), { connection })
}
