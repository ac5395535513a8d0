import type { Operation } from './operation.ts'
import { refusal } from './refusals.ts'

export const live: Operation = {
  tag: 'Health',
  summary: 'Is the process alive?',
  description: 'Answers while the process does. Do not restart it for what `/readyz` says.',
  answers: [
    {
      status: 200,
      description: 'It is.',
      schema: 'LiveAnswer',
      examples: { available: { when: 'Alive', value: { status: 'available' } } },
    },
  ],
  refusals: [],
}

export const ready: Operation = {
  tag: 'Health',
  summary: 'Would a request succeed now?',
  description:
    'Not ready while the log is away, and while keys and forms were not known to be current for more than 30 seconds; `message` says why.',
  answers: [
    {
      status: 200,
      description: 'It would.',
      schema: 'ReadyAnswer',
      examples: { available: { when: 'Ready', value: { status: 'available', reasons: [] } } },
    },
  ],
  refusals: [
    refusal(503, 'noCatalog', 'A gateway that has just started', 'The catalog was not read yet'),
    refusal(503, 'noLog', 'The log is away', 'Kafka is away'),
  ],
}
