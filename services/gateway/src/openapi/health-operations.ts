import type { Operation } from './operation.ts'

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
    'Not ready while the log is away, and while keys and forms were not known to be current for more than 30 seconds.',
  answers: [
    {
      status: 200,
      description: 'It would.',
      schema: 'ReadyAnswer',
      examples: { available: { when: 'Ready', value: { status: 'available', reasons: [] } } },
    },
    {
      status: 503,
      description: 'It would not, and why.',
      schema: 'ReadyAnswer',
      examples: {
        unavailable: {
          when: 'A gateway that has just started',
          value: { status: 'unavailable', reasons: ['The catalog was not read yet'] },
        },
      },
    },
  ],
  refusals: [],
}
