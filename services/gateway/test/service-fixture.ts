import {
  answerCollectorCalls,
  type Call,
  formTriggerEvaluatorCalls,
  meteringCalls,
  traitRegistryCalls,
  userEraserCalls,
  userProjectorCalls,
  webhookDispatcherCalls,
} from '@nextvisit/contracts'
import { createInternalServer, createLogger, type Handlers, type CallRoute } from '@nextvisit/service-kit'
import { Registry } from 'prom-client'
import type { z } from 'zod'
import { TEST_TOKEN } from './gateway-fixture.ts'

/** The calls that a gateway makes, of all services. */
const CALLS_OF_SERVICES = {
  ...userProjectorCalls,
  ...traitRegistryCalls,
  ...meteringCalls,
  ...formTriggerEvaluatorCalls,
  ...userEraserCalls,
  ...answerCollectorCalls,
  ...webhookDispatcherCalls,
}
type Calls = typeof CALLS_OF_SERVICES

/** Answers to some calls, of one service or of several. */
export type ServiceAnswers = Partial<Handlers<Calls>>

/** A call that the gateway made. */
export type ReceivedCall = {
  [Name in keyof Calls]: { readonly name: Name; readonly question: z.output<Calls[Name]['question']> }
}[keyof Calls]

/** A real internal server with answers that a spec chooses. */
export async function startService(answers: ServiceAnswers) {
  const calls: ReceivedCall[] = []
  const routes = Object.entries(answers).map(([name, handle]): CallRoute => {
    const { path, question }: Call = CALLS_OF_SERVICES[name as keyof Calls]
    return {
      path,
      question,
      handle: (asked, context) => {
        calls.push({ name, question: asked } as ReceivedCall)
        return (handle as unknown as CallRoute['handle'])(asked, context)
      },
    }
  })
  const server = createInternalServer({
    host: '127.0.0.1',
    port: 0,
    token: TEST_TOKEN,
    routes,
    isLive: () => ({ status: 'available' }),
    isReady: () => ({ status: 'available' }),
    metrics: new Registry(),
    logger: createLogger('service', 'silent'),
  })
  const { port } = await server.start()
  return { url: `http://127.0.0.1:${port}`, calls, stop: server.stop }
}
