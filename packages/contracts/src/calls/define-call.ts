import { z, type ZodType } from 'zod'

/**
 * One internal call: `POST path` with a JSON body on the internal port of a service, with the shared token as bearer token.
 * Both ends take path and schemas from here.
 */
export interface Call<Question extends ZodType = ZodType, Answer extends ZodType = ZodType> {
  readonly path: `/internal/${string}`
  readonly question: Question
  readonly answer: Answer
}

/** Calls of a service by name. The names label the gateway's metrics. */
export type CallTable = Readonly<Record<string, Call>>

/** A call that carries many questions; its answers have their order. */
type BatchedCallOf<Question extends ZodType, Answer extends ZodType> = Call<
  z.ZodObject<{ questions: z.ZodArray<Question> }>,
  z.ZodObject<{ answers: z.ZodArray<Answer> }>
>

/** Maximum number of questions in one batched call. */
const MAX_QUESTIONS = 1_000

/** Defines a call. */
export function defineCall<Question extends ZodType, Answer extends ZodType>(
  call: Call<Question, Answer>,
): Call<Question, Answer> {
  return call
}

/** Defines a call for many questions of this kind. The handler returns one answer for each, in their order. */
export function defineBatchedCall<Question extends ZodType, Answer extends ZodType>({
  path,
  question,
  answer,
}: Call<Question, Answer>): BatchedCallOf<Question, Answer> {
  const questions = z.array(question).max(MAX_QUESTIONS)
  return defineCall({ path, question: z.object({ questions }), answer: z.object({ answers: z.array(answer) }) })
}

/** The answer to a question that only reports something. */
export const DONE = 'done' as const
export const Done = z.literal(DONE)
