import { DEVICE_FIELD_VALUES, ErrorBody, maxBodyBytesOf, type RouteSignature } from '@nextvisit/contracts'
import { ANSWER_RULES, BODY_RULES, type BodyRule, SEGMENT_COM_RULES } from '@nextvisit/domain'
import type { ZodOpenApiResponsesObject } from 'zod-openapi'
import { headerRefs, json } from './components.ts'
import { MAX_LIMIT } from '../reads/page-query.ts'
import { errorBody, type RefusalRule, REFUSALS, UNAVAILABLE_REASONS, withStatus } from '../refusals/refusals.ts'

/** Refusals by the names of their examples. */
type DocumentedRefusals = Readonly<Record<string, RefusalRule>>

type RuleForMember = (member: string) => RefusalRule

/**
 * Returns the refusal of a rule, or a function of a member. The device field at the end of `member` has the allowed
 * values.
 */
function forMember(
  rule: BodyRule | ((member: string, allowed: readonly string[]) => BodyRule),
): RefusalRule | RuleForMember {
  if (typeof rule !== 'function') return withStatus(rule)
  return (member) => {
    const [, allowed] = Object.entries(DEVICE_FIELD_VALUES).find(([field]) => member.endsWith(`.${field}`)) ?? []
    return withStatus(rule(member, allowed ?? []))
  }
}

/**
 * Refusals that operations.yaml may name: `BODY_RULES`, some of which need a member of the body, and the constant ones
 * of `REFUSALS`. Of the two named `notStorable`, this has the one of `REFUSALS`, for reads.
 */
export const REFUSALS_BY_NAME: ReadonlyMap<string, RefusalRule | RuleForMember> = new Map([
  ...Object.entries(BODY_RULES).map(([name, rule]) => [name, forMember(rule)] as const),
  ...Object.entries<RefusalRule | ((...parameters: never[]) => RefusalRule)>(REFUSALS).flatMap(([name, rule]) =>
    typeof rule === 'function' ? [] : [[name, rule] as const],
  ),
  ...Object.entries(answerRules()).map(([name, rule]) => [name, withStatus(rule)] as const),
  ['batch', { status: 400, ...SEGMENT_COM_RULES.batch }],
  ['limit', REFUSALS.limit(MAX_LIMIT)],
  ['catalogNotReady', REFUSALS.notReady([UNAVAILABLE_REASONS.noCatalog])],
  ['erasuresNotReady', REFUSALS.notReady([UNAVAILABLE_REASONS.noErasures])],
  ['logNotReady', REFUSALS.notReady([UNAVAILABLE_REASONS.noLog])],
])

/** Returns an example of each rule for answers. */
function answerRules(): Readonly<Record<keyof typeof ANSWER_RULES, BodyRule>> {
  const { answeredForm, answeredRevision, answeredContent, answeredLanguage, ...rules } = ANSWER_RULES
  return {
    answeredForm,
    answeredRevision,
    answeredContent,
    answeredLanguage,
    noElement: rules.noElement('answers.stars'),
    answerToLink: rules.answerToLink('answers.docs'),
    answerNumber: rules.answerNumber('answers.score', 0, 10),
    answerText: rules.answerText('answers.reason', 1_000),
    answerConsent: rules.answerConsent('answers.contact'),
    answerChoice: rules.answerChoice('answers.plan', true),
    answerChoices: rules.answerChoices('answers.uses', false),
    answerOther: rules.answerOther('answers.plan.other'),
    answerAtMost: rules.answerAtMost('answers.uses', 3),
    answerAtLeast: rules.answerAtLeast('answers.uses', 1),
    answerRequired: rules.answerRequired('answers.score'),
  }
}

const BODY = 'The body'

/** Refusals of routes that take a body, after those of every key. */
const BODY_ROUTE: DocumentedRefusals = {
  notJson: withStatus(BODY_RULES.notJson(BODY)),
  notAnObject: withStatus(BODY_RULES.notAnObject(BODY)),
  notUtf8: withStatus(BODY_RULES.notUtf8(BODY)),
  notGzip: REFUSALS.notGzip,
  tooManyPieces: REFUSALS.tooManyPieces,
  contentEncoding: REFUSALS.contentEncoding,
  unfinishedBodies: REFUSALS.unfinishedBodies,
  bodyTooSlow: REFUSALS.bodyTooSlow,
  tooManyBytes: REFUSALS.tooManyBytes,
}

/** Refusals of commands with a body. */
const COMMAND: DocumentedRefusals = {
  tooDeep: withStatus(BODY_RULES.tooDeep(BODY)),
  notStorable: withStatus(BODY_RULES.notStorable(BODY)),
}

/** Refusals of routes that record one thing. Items of a batch are refused alone. */
const SINGLE_ROUTE: DocumentedRefusals = {
  ...COMMAND,
  idempotencyKey: REFUSALS.idempotencyKey,
  stillRunning: REFUSALS.stillRunning,
  keyOfAnother: REFUSALS.keyOfAnother,
  notRecorded: REFUSALS.notRecorded,
}

/**
 * Returns the refusals that all routes of a kind share, in the order of the checks. Without `route`: of operations
 * without a key.
 */
export function sharedRefusals(methods: readonly string[], route?: RouteSignature): DocumentedRefusals {
  const { notHttp, noHost, tooSlow, expectation, headersTooLarge, broken } = REFUSALS
  const otherMethod = REFUSALS.otherMethod(methods)
  const always = { notHttp, noHost, otherMethod, tooSlow, expectation, headersTooLarge, broken }
  if (!route) return always
  const { key, busy, noCatalog } = REFUSALS
  const notDone = REFUSALS.notDone('webhook dispatcher')
  const kindOfKey = REFUSALS.kindOfKey(route.keyKind)
  const ofPermission: DocumentedRefusals = route.permission ? { [route.permission]: REFUSALS[route.permission] } : {}
  const ofKey = { key, kindOfKey, ...ofPermission, tooFast: REFUSALS.tooFast(100), busy, noCatalog }
  if (route.method === 'GET') return { ...always, ...ofKey, notRead: REFUSALS.notRead('user projector') }
  if (route.method === 'DELETE') return { ...always, ...ofKey, notRecorded: REFUSALS.notRecorded }
  const { notRecorded } = REFUSALS
  if (route.hasNoBody) return { ...always, ...ofKey, notRecorded, notDone }
  const { contentType } = REFUSALS
  const ofType: DocumentedRefusals = route.keyIn ? {} : { contentType }
  const tooLarge = REFUSALS.tooLarge(maxBodyBytesOf(route))
  const own = route.isCommand ? { ...COMMAND, notRecorded, notDone } : takesMany(route) ? {} : SINGLE_ROUTE
  return { ...always, ...ofKey, ...BODY_ROUTE, ...own, ...ofType, tooLarge }
}

/** Returns true if a body may have many items, each with an answer of its own. */
export function takesMany(route: RouteSignature): boolean {
  return route.takesMany === true
}

export const RATE_LIMIT_HEADERS: readonly string[] = ['RateLimit', 'RateLimit-Policy']
/** Statuses of the checks before the rate limit, which never have its headers. A suppressed user (403) is found after it. */
const BEFORE_RATE_LIMIT: readonly number[] = [403, 405, 408, 417, 431]

/** Returns one response for each status, with an example for each refusal. `statuses`: descriptions by status. */
export function refusalResponses(
  refusals: DocumentedRefusals,
  statuses: Readonly<Record<string, string>>,
  isRateLimited: boolean,
): ZodOpenApiResponsesObject {
  const byStatus = Map.groupBy(Object.entries(refusals), ([, { status }]) => status)
  return Object.fromEntries(
    [...byStatus].map(([status, ofStatus]) => {
      const description = statuses[status]
      if (description === undefined) throw new Error(`operations.yaml: statuses: ${status} has no text`)
      const isBefore = BEFORE_RATE_LIMIT.includes(status) && !ofStatus.some(([name]) => name === 'suppressed')
      const limited = isRateLimited && !isBefore ? RATE_LIMIT_HEADERS : []
      const examples = ofStatus.map(
        ([name, { when, message }]) => [name, { summary: when, value: errorBody(status, message) }] as const,
      )
      const headers = headerRefs([...ownHeaders(status), ...limited])
      return [status, { description, headers, content: json(ErrorBody, Object.fromEntries(examples)) }]
    }),
  )
}

function ownHeaders(status: number): readonly string[] {
  if (status === 405) return ['Allow']
  return status === 429 || status === 503 ? ['Retry-After'] : []
}
