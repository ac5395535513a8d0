import { randomUUID } from 'node:crypto'
import { answerGiven, eventTracked, identifyRequested, visitAnswered } from '@nextvisit/contracts/fixtures'
import { describeProjection } from '@nextvisit/testing'
import { visitsConsumer } from '../../test/visits-consumer.ts'
import { readVisits } from '../../test/visits-projection.ts'

describeProjection(visitsConsumer(), {
  facts: [
    identifyRequested({ userName: 'ada' }),
    answerGiven({ keyed: true }),
    visitAnswered({ visitId: randomUUID(), queuedId: randomUUID(), formId: 'nps' }),
    ...Array.from({ length: 12 }, (_, index) =>
      eventTracked({
        userName: ['ada', 'bob', 'eve'][index % 3] ?? 'ada',
        eventName: `Event ${index}`,
        keyed: index % 4 === 0,
      }),
    ),
  ],
  readRows: readVisits,
})
