import type { CallTable } from '@nextvisit/contracts'
import type { z } from 'zod'
import type { ServiceCalls } from '../services.ts'
import type { Session } from './sessions.ts'
import { type ApiHandler, type ApiResult, refuse } from './api-route.ts'

interface ForwarderParts<Table extends CallTable, Input> {
  readonly services: ReadonlyMap<string, ServiceCalls<Table>>
  /** Removes data that the session may not see from every answer. */
  readonly mask: <Answer>(answer: Answer, session: Session, input: Input) => Answer
}

const NO_CONSUMER = refuse(404, 'no-such-consumer', 'There is no such consumer. Operations lists them.')

/** Makes handlers that pass a question on to the service that their input names, and mask its answer. */
export function forwarder<Table extends CallTable, Named extends { readonly service: string }>({
  services,
  mask,
}: ForwarderParts<Table, Named>) {
  return <Name extends keyof Table, Input extends Named, Answer>(
    name: Name,
    questionOf: (input: Input, session: Session) => z.input<Table[Name]['question']>,
    resultOf: (answer: z.output<Table[Name]['answer']>) => ApiResult<Answer>,
  ): ApiHandler<Input, Answer> =>
    async (input, session) => {
      const calls = services.get(input.service)
      if (!calls) return NO_CONSUMER
      const asked = await calls[name](questionOf(input, session))
      return asked.outcome === 'refused' ? asked : resultOf(mask(asked.answer, session, input))
    }
}
