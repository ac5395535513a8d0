import type { CallTable } from '@nextvisit/contracts'
import type { z } from 'zod'
import type { ServiceCalls } from '../services.ts'
import { type ApiHandler, type ApiResult, refuse } from './api-route.ts'
import type { Session } from './sessions.ts'

const NO_CONSUMER = refuse(404, 'no-such-consumer', 'There is no such consumer. Operations lists them.')

/**
 * Makes handlers that pass a question on to the service that their input names. `mask` removes data that the session may not
 * see from every answer.
 */
export function createForward<Table extends CallTable, Named extends { readonly service: string }>(
  services: ReadonlyMap<string, ServiceCalls<Table>>,
  mask: <Answer>(answer: Answer, session: Session, input: Named) => Answer,
) {
  return <Name extends keyof Table, Input extends Named, Answer>(
    name: Name,
    questionOf: (input: Input, session: Session) => z.input<Table[Name]['question']>,
    resultOf: (answer: z.output<Table[Name]['answer']>) => ApiResult<Answer>,
  ): ApiHandler<Input, Answer> =>
    async (input, session, signal) => {
      const calls = services.get(input.service)
      if (!calls) return NO_CONSUMER
      const result = await calls[name](questionOf(input, session), signal)
      return result.outcome === 'refused' ? result : resultOf(mask(result.answer, session, input))
    }
}
