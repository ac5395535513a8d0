import { live, ready } from './health-operations.ts'
import { headerRefs } from './headers.ts'
import type { JsonSchema, OperationObject, PathItem } from './open-api.ts'
import type { Operation, Tag } from './operation.ts'
import { everyRoute } from './refusals.ts'
import { answerResponses, refusalResponses } from './responses.ts'

/** What the gateway answers without a key. */
export function keylessPaths(): Readonly<Record<string, PathItem>> {
  return {
    '/livez': { get: health('live', live) },
    '/readyz': { get: health('ready', ready) },
    '/openapi.json': {
      get: page('openApi', 'This document', 'application/json', { type: 'object' }),
    },
    '/docs': {
      get: page('docs', 'This document, to be read', 'text/html', { type: 'string' }),
    },
  }
}

/** What a browser asks before a page of another origin may call a route. */
export function preflight(operationId: string): OperationObject {
  return {
    operationId: `${operationId}Preflight`,
    ...common('SDK'),
    summary: 'What a browser asks first (CORS)',
    description: 'Answered before the key is looked at, for any origin.',
    responses: {
      204: {
        description: 'The page may go on.',
        headers: headerRefs([
          'X-Request-Id',
          'Access-Control-Allow-Origin',
          'Access-Control-Allow-Methods',
          'Access-Control-Allow-Headers',
        ]),
      },
      ...refusalResponses(everyRoute(['POST', 'OPTIONS']), false),
    },
  }
}

function health(operationId: string, { summary, description, answers, refusals }: Operation): OperationObject {
  return {
    operationId,
    ...common('Health'),
    summary,
    description,
    responses: {
      ...answerResponses(answers, []),
      ...refusalResponses([...everyRoute(['GET', 'HEAD']), ...refusals], false),
    },
  }
}

function page(operationId: string, summary: string, mediaType: string, schema: JsonSchema): OperationObject {
  return {
    operationId,
    ...common('Health'),
    summary,
    description: 'Made from the same schemas and the same route table as the gateway itself.',
    responses: {
      200: { description: 'It.', headers: headerRefs(['X-Request-Id']), content: { [mediaType]: { schema } } },
      ...refusalResponses(everyRoute(['GET', 'HEAD']), false),
    },
  }
}

function common(tag: Tag) {
  return { tags: [tag], security: [] }
}
