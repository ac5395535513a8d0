import {
  FormStepsAnswer,
  type FormStepsQuery,
  INTERNAL_ROUTES,
  OpenCountsAnswer,
  type OpenCountsQuery,
  OpenRowsAnswer,
  type OpenRowsQuery,
} from '@nextvisit/contracts'
import { createInternalClient } from '@nextvisit/service-kit'
import type { ZodType } from 'zod'
import { type ApiResult, answered, refuse } from '../http/api-route.ts'
import type { ProcessSteps } from './form-summary.ts'

/** What the evaluator says of forms over all users. */
export interface Forms {
  /** Of every process: each has counted what it decided itself. */
  readonly readSteps: (query: FormStepsQuery) => Promise<readonly ProcessSteps[]>
  readonly readOpenCounts: (query: OpenCountsQuery) => Promise<ApiResult<OpenCountsAnswer>>
  readonly readOpenRows: (query: OpenRowsQuery) => Promise<ApiResult<OpenRowsAnswer>>
}

const ANSWER_WITHIN_MS = 3_000
export const EVALUATOR_SILENT = refuse(
  503,
  'no-answer',
  'form-trigger-evaluator does not answer. The Overview says what to do.',
)

/** `baseUrls`: of every process of the evaluator. */
export function createForms({
  baseUrls,
  token,
}: {
  readonly baseUrls: readonly string[]
  readonly token: string
}): Forms {
  const common = { token, timeoutMs: ANSWER_WITHIN_MS }
  const processes = baseUrls.map((url) => createInternalClient({ ...common, baseUrls: [url] }))
  const anyProcess = createInternalClient({ ...common, baseUrls })

  async function ask<Answer>(route: string, query: object, schema: ZodType<Answer>): Promise<ApiResult<Answer>> {
    const asked = await anyProcess.call(route, query, schema)
    return asked.outcome === 'answered' ? answered(asked.answer) : EVALUATOR_SILENT
  }

  return {
    readSteps: (query) =>
      Promise.all(
        processes.map(async (process) => {
          const asked = await process.call(INTERNAL_ROUTES.readFormSteps, query, FormStepsAnswer)
          return asked.outcome === 'answered' ? asked.answer : undefined
        }),
      ),
    readOpenCounts: (query) => ask(INTERNAL_ROUTES.readOpenCounts, query, OpenCountsAnswer),
    readOpenRows: (query) => ask(INTERNAL_ROUTES.readOpenRows, query, OpenRowsAnswer),
  }
}
