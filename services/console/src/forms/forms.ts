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
import { askService, type ReadPart } from '../ask-service.ts'
import type { CountedSteps } from './form-summary.ts'

/** What the evaluator says of forms over all users. */
export interface Forms {
  /** Of every process that answers: each has counted what it decided itself. */
  readonly readSteps: (query: FormStepsQuery) => Promise<ReadPart<CountedSteps>>
  readonly readOpenCounts: (query: OpenCountsQuery) => Promise<ReadPart<OpenCountsAnswer>>
  readonly readOpenRows: (query: OpenRowsQuery) => Promise<ReadPart<OpenRowsAnswer>>
}

export interface FormsParts {
  /** Of every process of the evaluator. */
  readonly baseUrls: readonly string[]
  readonly token: string
}

const SERVICE = 'form-trigger-evaluator'
const ANSWER_WITHIN_MS = 3_000
const { readFormSteps, readOpenCounts, readOpenRows } = INTERNAL_ROUTES

export function createForms({ baseUrls, token }: FormsParts): Forms {
  const common = { token, timeoutMs: ANSWER_WITHIN_MS }
  const processes = baseUrls.map((url) => createInternalClient({ ...common, baseUrls: [url] }))
  const anyProcess = createInternalClient({ ...common, baseUrls })

  async function readSteps(query: FormStepsQuery): Promise<ReadPart<CountedSteps>> {
    const asked = await Promise.all(
      processes.map((process) => askService(process, SERVICE, readFormSteps, query, FormStepsAnswer)),
    )
    const answers = asked.flatMap((part) => (part.outcome === 'read' ? part.model : []))
    const [first] = asked
    if (answers.length === 0 && first?.outcome === 'refused') return first
    return { outcome: 'read', model: { processes: asked.length, answers } }
  }

  return {
    readSteps,
    readOpenCounts: (query) => askService(anyProcess, SERVICE, readOpenCounts, query, OpenCountsAnswer),
    readOpenRows: (query) => askService(anyProcess, SERVICE, readOpenRows, query, OpenRowsAnswer),
  }
}
