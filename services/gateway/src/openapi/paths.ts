import { type KeyKind, LiveAnswer, ReadyAnswer } from '@nextvisit/contracts'
import { z } from 'zod'
import type { ZodOpenApiOperationObject, ZodOpenApiPathItemObject, ZodOpenApiPathsObject } from 'zod-openapi'
import { REFUSALS, UNAVAILABLE_REASONS } from '../http/refusals.ts'
import { type OperationId, ROUTES, type RouteSignature } from '../routes/route.ts'
import * as identifyOperations from './identify-operations.ts'
import { json, type Operation } from './operation.ts'
import * as projectOperations from './project-operations.ts'
import {
  answerResponse,
  everyRoute,
  keyedRoute,
  RATE_LIMIT_HEADERS,
  READING_ROUTE,
  RECORDING_ROUTE,
  refusalResponses,
} from './responses.ts'
import * as trackOperations from './track-operations.ts'
import * as userOperations from './user-operations.ts'

/** What the document says of each row of the route table: one that is missing does not compile. */
const OPERATIONS: Readonly<Record<OperationId, Operation>> = {
  ...identifyOperations,
  ...trackOperations,
  ...userOperations,
  ...projectOperations,
}

/** The request header of every route that records something (decisions.md, Retries). */
const IDEMPOTENCY_KEY = z.object({
  'Idempotency-Key': z
    .string()
    .min(1)
    .max(255)
    .regex(/^[\x21-\x7e]+$/)
    .optional()
    .meta({
      param: {
        description:
          "A name of your own for this request, the project's own. A repeat within 24 hours gets the first 2xx answer again and counts nothing.",
        example: 'order-4711-paid',
      },
    }),
})

const LIVE: Operation = {
  tag: 'Health',
  summary: 'Is the process alive?',
  description: 'Answers while the process does. Do not restart it for what `/readyz` says.',
  answer: {
    status: 200,
    description: 'The process is alive.',
    content: json(LiveAnswer, { available: { summary: 'Alive', value: { status: 'available' } } }),
  },
  refusals: {},
}

const { notReady } = REFUSALS
const READY: Operation = {
  tag: 'Health',
  summary: 'Would a request succeed now?',
  description:
    'Not ready while the log is unavailable, and while keys and forms were not known to be current for more than 30 seconds; `message` says why.',
  answer: {
    status: 200,
    description: 'A request would succeed.',
    content: json(ReadyAnswer, { available: { summary: 'Ready', value: { status: 'available', reasons: [] } } }),
  },
  refusals: {
    noCatalog: { ...notReady([UNAVAILABLE_REASONS.noCatalog]), when: 'A gateway that has just started' },
    noLog: { ...notReady([UNAVAILABLE_REASONS.noLog]), when: 'The log is unavailable' },
  },
}

/** What a browser asks before a page of another origin may call a route. */
const PREFLIGHT: Operation = {
  tag: 'SDK',
  summary: 'What a browser asks first (CORS)',
  description: 'Answered before the key is looked at, for any origin.',
  answer: {
    status: 204,
    description: 'The page may send its request.',
    headers: ['Access-Control-Allow-Origin', 'Access-Control-Allow-Methods', 'Access-Control-Allow-Headers'],
  },
  refusals: {},
}

const READ_METHODS = ['GET', 'HEAD']

/** The paths of the route table, then what needs no key. */
export function createPaths(): ZodOpenApiPathsObject {
  const ids = Object.keys(ROUTES) as OperationId[]
  return {
    ...Object.fromEntries(ids.map((id) => [ROUTES[id].pattern, keyedPath(id, ROUTES[id], OPERATIONS[id])])),
    '/livez': { get: operationObject('live', LIVE, READ_METHODS) },
    '/readyz': { get: operationObject('ready', READY, READ_METHODS) },
    '/openapi.json': {
      get: operationObject('openApi', page('This document', 'application/json', 'object'), READ_METHODS),
    },
    '/docs': { get: operationObject('docs', page('This document as a page', 'text/html', 'string'), READ_METHODS) },
  }
}

function keyedPath(id: OperationId, route: RouteSignature, operation: Operation): ZodOpenApiPathItemObject {
  const { method, keyKind } = route
  const isRecording = method === 'POST'
  const methods = isRecording ? (keyKind === 'sdk' ? ['POST', 'OPTIONS'] : ['POST']) : READ_METHODS
  const whole: Operation = {
    ...operation,
    ...(isRecording && { requestParams: { ...operation.requestParams, header: IDEMPOTENCY_KEY } }),
    answer: {
      ...operation.answer,
      headers: isRecording ? [...RATE_LIMIT_HEADERS, 'Idempotent-Replayed'] : RATE_LIMIT_HEADERS,
    },
    refusals: {
      ...keyedRoute(keyKind),
      ...(isRecording ? RECORDING_ROUTE : READING_ROUTE),
      ...operation.refusals,
    },
  }
  return {
    [method.toLowerCase()]: operationObject(id, whole, methods, keyKind),
    ...(keyKind === 'sdk' && { options: operationObject(`${id}Preflight`, PREFLIGHT, methods) }),
  }
}

function operationObject(
  operationId: string,
  { tag, summary, description, requestParams, body, answer, refusals }: Operation,
  methods: readonly string[],
  keyKind?: KeyKind,
): ZodOpenApiOperationObject {
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    security: keyKind ? [{ [keyKind === 'admin' ? 'AdminKey' : 'SdkKey']: [] }] : [],
    ...(requestParams && { requestParams }),
    ...(body && { requestBody: { required: true, content: body } }),
    responses: {
      [answer.status]: answerResponse(answer),
      ...refusalResponses({ ...everyRoute(methods), ...refusals }, keyKind !== undefined),
    },
  }
}

function page(summary: string, mediaType: string, type: 'object' | 'string'): Operation {
  return {
    tag: 'Health',
    summary,
    description: 'Made from the same schemas and the same route table as the gateway itself.',
    answer: { status: 200, description: 'The document.', content: { [mediaType]: { schema: { type } } } },
    refusals: {},
  }
}
