import type { GivenLog } from '@nextvisit/consumer/test/given-log.ts'
import { visitsConsumer } from '@nextvisit/consumer/test/visits-consumer.ts'
import { givenReplay } from './given-replay.ts'

/** The example's live read models over a log of the test's own, and replays of them. */
export function givenVisitsReplay({ topic, connection }: GivenLog) {
  return givenReplay(visitsConsumer(topic), { connection })
}
