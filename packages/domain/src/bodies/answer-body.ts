import { AnswerStatus, SlugId } from '@nextvisit/contracts'
import { BODY_RULES } from './body-rules.ts'
import { emptyAsObject, isJsonObject, type JsonObject, memberOf } from './json-object.ts'
import { reject, type Rejection } from './rejection.ts'
import { checkUserName } from './user-name.ts'

/** The body of an answer, before its answers are checked against the content of the form (`checkAnswers`). */
export interface AnswerBody {
  readonly userName: string
  readonly userSignature: string | undefined
  /** In lower case. */
  readonly offerId: string
  readonly formId: string
  readonly revision: number
  readonly answers: JsonObject
  readonly status: AnswerStatus
  readonly language: string | undefined
}

type ParsedAnswerBody = { readonly outcome: 'ok'; readonly value: AnswerBody } | Rejection

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/** Parses the body of an answer to a form (forms.md, Answers). */
export function parseAnswerBody(body: JsonObject): ParsedAnswerBody {
  const userName = memberOf(body, 'userName')
  const rejection = checkUserName(userName)
  if (rejection) return rejection
  const userSignature = memberOf(body, 'userSignature')
  if (userSignature !== undefined && typeof userSignature !== 'string') return reject(BODY_RULES.signatureType)
  const offerId = memberOf(body, 'offerId')
  if (typeof offerId !== 'string' || !UUID.test(offerId)) return reject(BODY_RULES.offerId)
  const { data: formId } = SlugId.safeParse(memberOf(body, 'formId'))
  if (formId === undefined) return reject(BODY_RULES.formId)
  const revision = memberOf(body, 'revision')
  if (!isRevision(revision)) return reject(BODY_RULES.revision)
  const answers = emptyAsObject(memberOf(body, 'answers'))
  if (!isJsonObject(answers)) return reject(BODY_RULES.answers)
  const { data: status } = AnswerStatus.safeParse(memberOf(body, 'status'))
  if (status === undefined) return reject(BODY_RULES.answerStatus)
  const language = memberOf(body, 'language')
  if (language !== undefined && typeof language !== 'string') return reject(BODY_RULES.language)
  return {
    outcome: 'ok',
    value: {
      userName: userName as string,
      userSignature,
      offerId: offerId.toLowerCase(),
      formId,
      revision,
      answers,
      status,
      language,
    },
  }
}

function isRevision(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 1
}
