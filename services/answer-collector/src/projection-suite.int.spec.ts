import { randomUUID } from 'node:crypto'
import {
  answerGiven,
  formAnswered,
  formCancelled,
  formDelivered,
  formExpired,
  formQueued,
} from '@nextvisit/contracts/fixtures'
import { describeProjection } from '@nextvisit/testing'
import { readCollected } from '../test/given-collector.ts'
import { answerCollector } from './consumer.ts'

const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()]
const elements = { score: 'nps', reason: 'text' } as const

describeProjection(answerCollector, {
  facts: [
    formQueued({ queuedId: first }),
    formDelivered({ queuedId: first, at: '2026-11-02T10:05:00.000Z' }),
    formAnswered(
      answerGiven({
        offerId: first,
        status: 'partial',
        received: '2026-11-02T10:05:30.000Z',
        answers: { score: 3 },
        elements: { score: 'nps' },
      }),
    ),
    formQueued({ userName: 'bob', queuedId: second, environment: 'T' }),
    formAnswered(answerGiven({ offerId: first, status: 'partial', answers: { score: 9, reason: 'Fine' }, elements })),
    formAnswered(
      answerGiven({
        offerId: first,
        received: '2026-11-02T10:07:00.000Z',
        answers: { score: 10 },
        elements: { score: 'nps' },
      }),
    ),
    formAnswered(answerGiven({ offerId: first, status: 'dismissed' }), { outcome: 'late' }),
    formExpired({ userName: 'bob', queuedId: second }),
    formDelivered({ userName: 'bob', queuedId: second, environment: 'T', at: '2026-11-03T10:00:00.000Z' }),
    formAnswered(answerGiven({ userName: 'bob', offerId: second, status: 'dismissed', elements: {}, answers: {} })),
    formAnswered(answerGiven({ offerId: randomUUID() }), { outcome: 'unmatched' }),
    formQueued({ queuedId: third, project: 'blog', formId: 'stars' }),
    formCancelled({ queuedId: third, project: 'blog', formId: 'stars' }),
    formAnswered(
      answerGiven({
        offerId: third,
        project: 'blog',
        formId: 'stars',
        elements: { uses: 'choices' },
        answers: { uses: ['work', { other: 'Fun' }] },
      }),
    ),
  ],
  readRows: readCollected,
})
