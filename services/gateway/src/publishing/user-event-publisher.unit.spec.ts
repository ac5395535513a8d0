import { eventTracked } from '@nextvisit/contracts/fixtures'
import type { Publisher } from '@nextvisit/log'
import { createDependencyLog, createLogger } from '@nextvisit/service-kit'
import { expect, it } from 'vitest'
import { createUserEventPublisher } from './user-event-publisher.ts'

it('a record behind a failed one of its sequence is not published, and its outcome names that reason', async () => {
  const publisher = { publish: () => expect.unreachable('The record must not be sent') } as unknown as Publisher
  const userEvents = createUserEventPublisher({
    connection: { brokers: [], clientId: 'spec' },
    publisher,
    logger: createLogger('spec', 'silent'),
    dependencies: createDependencyLog(createLogger('spec', 'silent')),
    onState: () => undefined,
  })
  const options = { deadlineAt: Infinity, traceparent: '', sequence: { isBroken: true } }
  const outcome = await userEvents.publish(eventTracked(), { userId: 'ada', partition: 0 }, options)
  expect(outcome).toEqual({ outcome: 'not-published', reason: 'broken-sequence' })
})
