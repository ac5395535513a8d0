import type { ParameterObject } from './open-api.ts'
import type { DocumentedAnswer, DocumentedBody, DocumentedRefusal } from './operation.ts'
import { refusal } from './refusals.ts'

/** What every listing takes. `example`: an `after` of this one. */
export function pageParameters(example: string, format?: 'uuid'): readonly ParameterObject[] {
  return [
    {
      name: 'limit',
      in: 'query',
      required: false,
      description: 'How many, at most.',
      schema: { type: 'integer', minimum: 1, maximum: 1_000, default: 100 },
      example: 100,
    },
    {
      name: 'after',
      in: 'query',
      required: false,
      description: '`next` of the page before.',
      schema: { type: 'string', ...(format && { format }) },
      example,
    },
  ]
}

export function pageOf(
  schema: DocumentedBody['schema'],
  description: string,
  example: DocumentedBody['examples'][string],
): DocumentedAnswer {
  return { status: 200, description, schema, examples: { page: example } }
}

export const PAGE_REFUSALS: readonly DocumentedRefusal[] = [
  refusal(400, 'limit', 'A limit out of its range', 'limit must be a whole number from 1 to 1000'),
  refusal(400, 'after', 'An `after` that nobody gave', 'after must be what next was in the answer before'),
]
