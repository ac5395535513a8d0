import type { AnswerValue, ChoiceAnswer, FormAnswer, FormContent } from '@nextvisit/contracts'
import { CliError } from '../errors.ts'
import { type Cell, csvLine } from './csv.ts'

export type AnswerFormat = 'ndjson' | 'csv'

/** Formats answers as lines of text. */
export interface AnswerLines {
  /** The first line; empty: there is none. */
  readonly head: string
  readonly lineOf: (answer: FormAnswer) => string
}

/** Columns before those of the elements. */
const MEMBERS = [
  'answerId',
  'userId',
  'userName',
  'offerId',
  'revision',
  'language',
  'environment',
  'status',
  'startedAt',
  'endedAt',
  'causeId',
] as const satisfies readonly (keyof FormAnswer)[]

/** Each line is an answer as in `GET /v2/admin/forms/{formId}/answers`. */
export const NDJSON: AnswerLines = { head: '', lineOf: (answer) => `${JSON.stringify(answer)}\n` }

/**
 * Creates the lines of a table. It has a column for each element, `answers.<id>`, and another for the texts of users in place of an
 * option, `answers.<id>.other`. `contents`: of every revision, the newest first.
 */
export function createCsvLines(contents: readonly FormContent[]): AnswerLines {
  const columns = columnsOf(contents)
  const known = new Set(columns.map(({ element }) => element))
  return {
    head: csvLine([
      ...MEMBERS,
      ...columns.map(({ element, isOther }) => `answers.${element}${isOther ? '.other' : ''}`),
    ]),
    lineOf: (answer) => {
      const { answers, answerId } = answer
      const missing = Object.keys(answers).find((element) => !known.has(element))
      if (missing !== undefined)
        throw new CliError(
          `The answer ${answerId} has the element ${missing}, which is in no content of the form in the catalog. Use --format ndjson.`,
        )
      const values = new Map(Object.entries(answers))
      const cells = columns.map(({ element, isOther }) => cellOf(values.get(element), isOther))
      return csvLine([...MEMBERS.map((member) => answer[member]), ...cells])
    },
  }
}

interface Column {
  readonly element: string
  /** True: of texts of users in place of an option. */
  readonly isOther: boolean
}

function columnsOf(contents: readonly FormContent[]): readonly Column[] {
  const hasOther = new Map<string, boolean>()
  for (const element of contents.flatMap(({ elements }) => elements)) {
    if (element.type === 'link') continue
    const takesOther = (element.type === 'choice' || element.type === 'choices') && element.other
    hasOther.set(element.id, takesOther || hasOther.get(element.id) === true)
  }
  return [...hasOther].flatMap(([element, other]) => [
    { element, isOther: false },
    ...(other ? [{ element, isOther: true }] : []),
  ])
}

/** Options of a list are separated by a semicolon: their ids have none. */
function cellOf(value: AnswerValue | undefined, isOther: boolean): Cell {
  if (value === undefined || typeof value === 'number' || typeof value === 'boolean') return isOther ? undefined : value
  const choices: readonly ChoiceAnswer[] = Array.isArray(value)
    ? (value as readonly ChoiceAnswer[])
    : [value as ChoiceAnswer]
  if (isOther) return choices.find((choice) => typeof choice === 'object')?.other
  const options = choices.filter((choice) => typeof choice === 'string')
  return options.length === 0 ? undefined : options.join(';')
}
