import { errorBody } from '../http/write-answer.ts'
import { type HeaderName, headerRefs } from './headers.ts'
import type { Content, ExampleObject, Responses } from './open-api.ts'
import type { DocumentedAnswer, DocumentedBody, DocumentedRefusal } from './operation.ts'
import { STATUSES } from './refusals.ts'
import { schemaRef } from './schemas.ts'

export const RATE_LIMIT_HEADERS: readonly HeaderName[] = ['RateLimit', 'RateLimit-Policy']

/** Statuses of the checks that come before the rate limit is looked at: never with its headers. */
const BEFORE_RATE_LIMIT: readonly number[] = [403, 405, 408, 417, 431]

export function answerResponses(answers: readonly DocumentedAnswer[], headers: readonly HeaderName[]): Responses {
  return Object.fromEntries(
    answers.map((answer) => [
      answer.status,
      {
        description: answer.description,
        headers: headerRefs(['X-Request-Id', ...headers]),
        content: jsonContent(answer),
      },
    ]),
  )
}

/** One response a status, with an example for each refusal of it. */
export function refusalResponses(refusals: readonly DocumentedRefusal[], isRateLimited: boolean): Responses {
  const byStatus = Map.groupBy(refusals, ({ status }) => status)
  return Object.fromEntries(
    [...byStatus].map(([status, ofStatus]) => {
      const limited = isRateLimited && !BEFORE_RATE_LIMIT.includes(status) ? RATE_LIMIT_HEADERS : []
      return [
        status,
        {
          description: STATUSES[status] ?? 'Refused.',
          headers: headerRefs(['X-Request-Id', ...ownHeaders(status), ...limited]),
          content: { 'application/json': { schema: schemaRef('ErrorBody'), examples: refusalExamples(ofStatus) } },
        },
      ]
    }),
  )
}

export function jsonContent({ schema, examples }: DocumentedBody): Content {
  const entries = Object.entries(examples).map(([name, { when, value }]) => [name, { summary: when, value }] as const)
  return { 'application/json': { schema: schemaRef(schema), examples: Object.fromEntries(entries) } }
}

function refusalExamples(refusals: readonly DocumentedRefusal[]): Readonly<Record<string, ExampleObject>> {
  return Object.fromEntries(
    refusals.map(({ name, when, status, message }) => [name, { summary: when, value: errorBody(status, message) }]),
  )
}

function ownHeaders(status: number): readonly HeaderName[] {
  if (status === 405) return ['Allow']
  return status === 429 || status === 503 ? ['Retry-After'] : []
}
