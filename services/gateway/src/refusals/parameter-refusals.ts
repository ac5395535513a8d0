import { MAX_RESULT_DAYS } from '@nextvisit/contracts'

/** Refusals of the parameters of a read. They are part of `REFUSALS`. */
export const PARAMETER_REFUSALS = {
  notStorable: {
    status: 400,
    message: 'userName must not contain U+0000 or lone surrogates',
    when: 'A userName with U+0000',
  },
  limit: (max: number) => ({
    status: 400,
    message: `limit must be a whole number from 1 to ${max}`,
    when: 'A limit out of its range',
  }),
  after: {
    status: 400,
    message: 'after must be the next of the previous answer',
    when: 'An `after` that is not the `next` of a page',
  },
  reason: {
    status: 400,
    message: 'reason must be the name of a refusal, as in counts, such as tooFast',
    when: 'A `reason` that is not the name of a refusal',
  },
  environment: { status: 400, message: 'environment must be P or T', when: 'Another `environment`' },
  resultsLanguage: {
    status: 400,
    message: 'language must be a language tag, such as en or pt-BR',
    when: 'A language that is no tag',
  },
  from: { status: 400, message: 'from must be a day in UTC, such as 2026-11-27', when: 'A `from` that is no day' },
  to: {
    status: 400,
    message: 'to must be a day in UTC, such as 2026-11-28; it is exclusive',
    when: 'A `to` that is no day',
  },
  days: { status: 400, message: 'from must be before to, which is exclusive', when: 'A `to` that is not later' },
  resultDays: {
    status: 400,
    message: `from and to must enclose at most ${MAX_RESULT_DAYS} of the form's days, or all of them`,
    when: `More than ${MAX_RESULT_DAYS} days of the form, but not all of them`,
  },

  deliveryStatus: {
    status: 400,
    message: 'status must be pending, delivered or failed',
    when: 'Another `status`',
  },
  userOfDeliveries: { status: 400, message: 'user must be a userId, a UUID', when: 'A `user` that is no UUID' },
} as const
