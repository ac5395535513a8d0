export {
  type IdempotentContent,
  type IdempotentRequest,
  idempotentRequestOf,
  isIdempotencyKey,
} from './idempotent-request.ts'
export { createKeptAnswers, type KeptAnswers } from './kept-answers.ts'
