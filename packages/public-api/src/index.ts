export { type Answer, answer } from './answer.ts'
export { createDocuments, type ServedDocument } from './openapi/documents.ts'
export { pageOf, parsePage } from './page-query.ts'
export {
  errorBody,
  MAX_BODY_BYTES,
  MAX_BODY_PIECES,
  REASONS,
  type Refusal,
  type RefusalRule,
  REFUSALS,
  refuse,
  refuseBody,
  UNAVAILABLE_REASONS,
} from './refusals.ts'
export { maxBodyBytesAt, maxBodyBytesOf, type OperationId, ROUTES, type RouteSignature } from './routes.ts'
