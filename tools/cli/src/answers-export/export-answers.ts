import {
  type answerCollectorCalls,
  type CollectedAnswer,
  type Environment,
  type FormAnswer,
  MAX_ANSWERS_ASKED,
  type ProjectRef,
  type userProjectorCalls,
} from '@nextvisit/contracts'
import { nameAnswers, usersOfAnswers } from '@nextvisit/domain'
import type { CallClient, CallOutcome } from '@nextvisit/service-kit'
import type { ErasureView } from '@nextvisit/user-keys'
import { CliError, EXIT, isTokenRefused } from '../errors.ts'
import type { AnswerLines } from './answer-lines.ts'

export interface ExportAnswersParts {
  readonly answerCollector: Pick<CallClient<typeof answerCollectorCalls>, 'readFormAnswers'>
  readonly userProjector: Pick<CallClient<typeof userProjectorCalls>, 'readUserNames'>
  readonly erasures: Pick<ErasureView, 'isSuppressed' | 'keysUntilOf'>
  readonly form: ProjectRef & { readonly formId: string; readonly environment: Environment }
  readonly lines: AnswerLines
  /** Writes complete lines, with back-pressure. */
  readonly write: (text: string) => Promise<void>
  /** Reports the number of answers so far. */
  readonly onProgress: (answers: number) => void
}

/** `unknown`: nothing of the form was ever counted, and nothing was written. */
export type Exported =
  | { readonly outcome: 'unknown' }
  | { readonly outcome: 'written'; readonly answers: number; readonly erased: number; readonly isStale: boolean }

/**
 * Writes the answers to a form page by page, newest first, as far as they exist at the start. Those of erased users are left out,
 * also if a service has not folded the erasure yet.
 */
export async function exportAnswers(parts: ExportAnswersParts): Promise<Exported> {
  const { answerCollector, form, lines, write, onProgress } = parts
  const exported = { answers: 0, erased: 0, isStale: false }
  let after: string | undefined
  do {
    const read = await answerCollector.readFormAnswers({ ...form, limit: MAX_ANSWERS_ASKED, after })
    if (read.outcome === 'not-found') return { outcome: 'unknown' }
    const { answers, next, stale } = answerOf('answer collector', read)
    const shown = await withNames(answers, parts)
    const head = after === undefined ? lines.head : ''
    await write(`${head}${shown.map(lines.lineOf).join('')}`)
    exported.answers += shown.length
    exported.erased += answers.length - shown.length
    exported.isStale ||= stale === true
    onProgress(exported.answers)
    after = next ?? undefined
  } while (after !== undefined)
  return { outcome: 'written', ...exported }
}

async function withNames(
  answers: readonly CollectedAnswer[],
  { userProjector, erasures, form: { organization, project } }: ExportAnswersParts,
): Promise<readonly FormAnswer[]> {
  const users = usersOfAnswers({ organization, project }, answers)
  if (users.length === 0) return []
  const { answers: named } = answerOf('user projector', await userProjector.readUserNames({ questions: users }))
  return nameAnswers(answers, users, named, erasures)
}

function answerOf<Answer>(service: string, asked: CallOutcome<Answer>): Answer {
  if (asked.outcome === 'answered') return asked.answer
  if (asked.outcome !== 'unavailable')
    throw new CliError(`The ${service} lags behind the log: try again. nextvisit status shows the lag.`)
  const because = isTokenRefused(asked.cause)
    ? 'refuses INTERNAL_TOKEN: set the token that it was started with, or unset it if a local stack runs here'
    : 'cannot answer now: it is unavailable or lags far behind. See nextvisit status'
  throw new CliError(`The ${service} ${because}.`, EXIT.failed, { cause: asked.cause })
}
