/** The schemas that the document of the public API names. */
export {
  ErasureAnswer,
  ErasureBegun,
  ErasureBody,
  ErasureReceipt,
  ErasuresPage,
  ErasureStore,
  ErasureSummary,
  SuppressionsPage,
} from './erasures.ts'
export * from './errors.ts'
export {
  ElementResults,
  FormAnswer,
  FormAnswersPage,
  FormFunnel,
  FormResults,
  FormsPage,
  FormSummary,
} from './form-results.ts'
export * from './ingest.ts'
export * from './reads.ts'
export * from './refusals.ts'
export * from './segment-com.ts'
export {
  WebhookAttempt,
  WebhookDeliveries,
  WebhookDelivery,
  WebhookDeliveryBegun,
  WebhookDeliveryDetail,
  WebhookEndpoint,
  WebhookEndpoints,
  WebhookReplay,
  WebhookReplayBegun,
  WebhookReplayBody,
  WebhookRetried,
  WebhookRetryBody,
} from './webhooks.ts'
