export * from './api-key.ts'
export { type AllowedFields, applyAllowList, applyAllowListToProperties } from './bodies/apply-allow-list.ts'
export { type AnswerBody, parseAnswerBody } from './bodies/answer-body.ts'
export { type BatchItem, parseBatch, parseBatchItem } from './bodies/batch-body.ts'
export { BODY_RULES } from './bodies/body-rules.ts'
export { checkSettableTraits } from './bodies/check-settable-traits.ts'
export { checkDeviceValue } from './bodies/device-info.ts'
export { type IdentifyBody, parseIdentifyBody, parseVisitBody, parseVisitJson } from './bodies/identify-body.ts'
export { isTimezone } from './bodies/is-timezone.ts'
export { markInexactNumbers } from './bodies/mark-inexact-numbers.ts'
export { type ErasureBody, parseErasureBody } from './bodies/erasure-body.ts'
export { parseReplayBody, parseRetryBody } from './bodies/webhook-bodies.ts'
export * from './bodies/json-object.ts'
export { checkDepth, type ParsedJson, parseJson, parsePythonJson, parseUncheckedJson } from './bodies/parse-json.ts'
export { type BodyRule, nameRules, reject, type Rejection, type RuleName } from './bodies/rejection.ts'
export { parseTrackBody, type TrackBody } from './bodies/track-body.ts'
export { checkUserName } from './bodies/user-name.ts'
export { redactMessage } from './bodies/redact-message.ts'
export { compileTree } from './conditions/condition-tree.ts'
export { treeInWords, triggerInWords } from './conditions/condition-words.ts'
export { valueTest } from './conditions/value-test.ts'
export { type Counted, countedByTrigger, countKeyOf, countKeysOf, countsRaisedBy } from './counts/count-key.ts'
export { type EventHistory, MAX_EVENT_HISTORY_BYTES, type MissedOccurrence } from './counts/event-history.ts'
export { countsForOf } from './conditions/property-counts.ts'
export * from './erasure/fence.ts'
export { nameAnswers, usersOfAnswers } from './erasure/named-answers.ts'
export * from './event-slug.ts'
export * from './signing-secrets.ts'
export { answeredElements } from './forms/content/answered-elements.ts'
export { ANSWER_RULES } from './forms/content/answer-rules.ts'
export { checkAnswers } from './forms/content/check-answers.ts'
export { contentHashOf } from './forms/content/content-hash.ts'
export { languageFor } from './forms/content/language-for.ts'
export { localizedContent } from './forms/content/localized-content.ts'
export * from './forms/needed-facts.ts'
export {
  type ExplainedDecision,
  type ExplainedGate,
  explainForms,
  explainGates,
  type FormExplanation,
  progressByTrigger,
  triggersToCount,
  type TriggerProgress,
} from './forms/explain-forms.ts'
export { type EvaluatedForm, evaluateForms } from './forms/evaluate-forms.ts'
export { compileForms, type FormIndex } from './forms/form-index.ts'
export { describeComparison, gateSettingsOf, gatesNotChecked, reasonInWords } from './forms/gates/gates.ts'
export { answerRow } from './forms/queue/answer-row.ts'
export { chooseForm } from './forms/queue/choose-form.ts'
export { queuedIdOf, queueErasedIdOf } from './forms/queue/form-ids.ts'
export * from './forms/queue/queue.ts'
export { queueForms } from './forms/queue/queue-forms.ts'
export {
  answeredContextOf,
  compileTrigger,
  eventContextOf,
  type TriggerContext,
  visitContextOf,
} from './forms/triggers.ts'
export type { UserState } from './forms/user-state.ts'
export * from './idempotent-record.ts'
export * from './ids.ts'
export {
  EXPORT_FORMATS,
  type ExportFormat,
  inWordsOf,
  likelyFormatOf,
  parseExportLine,
} from './import/exports/export-formats.ts'
export { type ExportLine, type ExportSettings, SKIP_REASONS, type SkipReason } from './import/exports/export-line.ts'
export { createMergedUsers, type MergedUsers } from './import/exports/merged-users.ts'
export {
  checkImportLine,
  identityOfLine,
  importedRecordId,
  type ParsedImportLine,
  parseImportLine,
} from './import/import-line.ts'
export { MAX_EXPORT_LINE_BYTES, MAX_LINE_BYTES } from './import/import-rules.ts'
export * from './import/imported-fact.ts'
export type { ProjectPolicy } from './project-policy.ts'
export * from './memoize.ts'
export { parseSegmentComBatch, parseSegmentComMessage, userNameOfUserId } from './segment-com/segment-com-message.ts'
export { inSegmentComWords, SEGMENT_COM_LIMITS, SEGMENT_COM_RULES } from './segment-com/segment-com-rules.ts'
export { type SegmentChangeCause, segmentFactsOf } from './segments/segment-facts.ts'
export * from './segments/segmented-user.ts'
export { compileSegments, NO_SEGMENTS } from './segments/segments.ts'
export { topologicalOrder } from './segments/topological-order.ts'
export * from './time/complete-up-to.ts'
export { isoInstant } from './time/iso-instant.ts'
export * from './time/moment.ts'
export * from './time/month.ts'
export { parseInstant } from './time/parse-instant.ts'
export * from './traits/carried-names.ts'
export { registeringSlugs } from './traits/custom-slugs.ts'
export { capOnNewEvents, capsOnNewTraits } from './traits/name-caps.ts'
export { USER_LIMITS } from './traits/trait-limits.ts'
export { toTraitOperations, TRAIT_OPERATORS, type TraitChange, traitChangesOf } from './traits/trait-operators.ts'
export * from './users/answer-state.ts'
export { applyEvent, applyIdentify, applySdkContact, applyVisit, type User } from './users/user.ts'
export { EMPTY_PROFILE, formatChangedTraits, parseTraits, type Profile } from './traits/profile.ts'
export { type DeliveryStream, deliveryIdOf, LIVE_STREAM } from './webhooks/delivery-id.ts'
export {
  type Captured,
  type CapturedMember,
  capturedMembersOf,
  type ThinPayload,
  thinPayloadOf,
  webhookEventOf,
  withCaptured,
} from './webhooks/webhook-payload.ts'
export * from './webhooks/retry-schedule.ts'
export * from './webhooks/webhook-secret.ts'
