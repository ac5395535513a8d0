import { ROUTES, type OperationId, type RouteSignature } from '../routes/route.ts'
import { IDEMPOTENCY_KEY } from './headers.ts'
import type { OperationObject, PathItem } from './open-api.ts'
import type { DocumentedRefusal, Operation } from './operation.ts'
import { OPERATIONS } from './operations.ts'
import { preflight } from './keyless-paths.ts'
import { everyRoute, keyedRoute, READING_ROUTE, RECORDING_ROUTE } from './refusals.ts'
import { answerResponses, jsonContent, RATE_LIMIT_HEADERS, refusalResponses } from './responses.ts'

/** The paths of the route table. */
export function keyedPaths(): Readonly<Record<string, PathItem>> {
  const ids = Object.keys(ROUTES) as OperationId[]
  return Object.fromEntries(ids.map((id) => [ROUTES[id].pattern, pathItem(id, ROUTES[id], OPERATIONS[id])]))
}

function pathItem(operationId: OperationId, route: RouteSignature, operation: Operation): PathItem {
  return {
    [route.method.toLowerCase()]: operationObject(operationId, route, operation),
    ...(route.keyKind === 'sdk' && { options: preflight(operationId) }),
  }
}

function operationObject(operationId: OperationId, route: RouteSignature, operation: Operation): OperationObject {
  const { tag, summary, description, body, answers } = operation
  const isRecording = route.method === 'POST'
  const parameters = [...(operation.parameters ?? []), ...(isRecording ? [IDEMPOTENCY_KEY] : [])]
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    security: [{ [route.keyKind === 'admin' ? 'AdminKey' : 'SdkKey']: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: jsonContent(body) } }),
    responses: {
      ...answerResponses(answers, [...RATE_LIMIT_HEADERS, ...(isRecording ? (['Idempotent-Replayed'] as const) : [])]),
      ...refusalResponses(refusalsOf(route, operation), true),
    },
  }
}

/** In the order of the checks. */
function refusalsOf({ method, keyKind }: RouteSignature, { refusals }: Operation): readonly DocumentedRefusal[] {
  const methods = method === 'GET' ? ['GET', 'HEAD'] : keyKind === 'sdk' ? ['POST', 'OPTIONS'] : ['POST']
  return [
    ...everyRoute(methods),
    ...keyedRoute(keyKind),
    ...(method === 'POST' ? RECORDING_ROUTE : READING_ROUTE),
    ...refusals,
  ]
}
