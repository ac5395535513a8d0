import { MAX_PENDING_TESTS, MAX_REPLAYS_KEPT, MAX_TESTS_A_DAY, MAX_UNFINISHED_REPLAYS } from '@nextvisit/contracts'

/** Why the dispatcher of webhooks does not do a command. */
export const WEBHOOK_REFUSALS = {
  replays: {
    status: 409,
    message: `The endpoint has ${MAX_UNFINISHED_REPLAYS} replays that are not complete: wait until one is`,
    when: 'Too many replays of the endpoint at once',
  },
  tests: {
    status: 409,
    message: `The endpoint has ${MAX_PENDING_TESTS} tests that are not attempted yet: wait until one is`,
    when: 'Too many tests of the endpoint at once',
  },
  replaysKept: {
    status: 409,
    message: `The endpoint has had ${MAX_REPLAYS_KEPT} replays in 30 days: one replay can send a longer range`,
    when: 'Too many replays of the endpoint in 30 days',
  },
  testsOfDay: {
    status: 409,
    message: `The endpoint has had ${MAX_TESTS_A_DAY} tests in 24 hours`,
    when: 'Too many tests of the endpoint in a day',
  },
  testRetried: { status: 409, message: 'A test is sent once: send another one', when: 'A retry of a test' },
  disabledInFile: {
    status: 409,
    message: 'The workspace file disables this endpoint: set enabled: true there, and apply it',
    when: 'An endpoint with `enabled: false` in the workspace file',
  },
} as const
