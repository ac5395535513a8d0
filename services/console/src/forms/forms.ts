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
import { askService, noAnswerOf } from '../ask-service.ts'
import type { ApiResult } from '../http/api-route.ts'
import type { ProcessSteps } from './form-summary.ts'

/** What the evaluator says of forms over all users. */
export interface Forms {
  /** Of every process: each has counted what it decided itself. */
  readonly readSteps: (query: FormStepsQuery) => Promise<readonly ProcessSteps[]>
  readonly readOpenCounts: (query: OpenCountsQuery) => Promise<ApiResult<OpenCountsAnswer>>
  readonly readOpenRows: (query: OpenRowsQuery) => Promise<ApiResult<OpenRowsAnswer>>
}

const ANSWER_WITHIN_MS = 3_000
const SERVICE = 'form-trigger-evaluator'
export const EVALUATOR_SILENT = noAnswerOf(SERVICE)

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

  return {
    readSteps: (query) =>
      Promise.all(
        processes.map(async (process) => {
          const asked = await process.call(INTERNAL_ROUTES.readFormSteps, query, FormStepsAnswer)
          return asked.outcome === 'answered' ? asked.answer : undefined
        }),
      ),
    readOpenCounts: (query) => askService(anyProcess, SERVICE, INTERNAL_ROUTES.readOpenCounts, query, OpenCountsAnswer),
    readOpenRows: (query) => askService(anyProcess, SERVICE, INTERNAL_ROUTES.readOpenRows, query, OpenRowsAnswer),
  }
}
