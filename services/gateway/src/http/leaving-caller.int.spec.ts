import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { answerRequestParts, KEY } from '../../test/answer-request-parts.ts'
import { type AnswerRequestParts, createAnswerRequest } from './answer-request.ts'
import type { Route } from './route.ts'

const BODY = '{"userName":"ada"}'

let server: Server
afterEach(() => server.close())

/** One route over HTTP. `over` resolves after its request, `callerLeft` after the caller has left. */
async function givenRoute(
  handle: Route['handle'],
  takeToken: (callerLeft: Promise<unknown>) => Promise<unknown> = async () => undefined,
  afterwards: NonNullable<Route['afterwards']> = async () => undefined,
) {
  const route: Route = { method: 'POST', pattern: '/test', keyKind: 'admin', handle, afterwards }
  const over = Promise.withResolvers<void>()
  const began = Promise.withResolvers<void>()
  let callerLeft: Promise<unknown> = Promise.resolve()
  const rateLimiter: AnswerRequestParts['rateLimiter'] = {
    take: async () => {
      began.resolve()
      await takeToken(callerLeft)
      return { isAllowed: true, remaining: 1, moreInSeconds: 1 }
    },
  }
  const answerRequest = createAnswerRequest(answerRequestParts({ rateLimiter }))
  server = createServer((request, response) => {
    callerLeft = once(response, 'close')
    void answerRequest(route, new URLSearchParams(), request, response).then(over.resolve)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => undefined)
  const head = ['POST /test HTTP/1.1', 'Host: x', `X-Api-Key: ${KEY}`, 'Content-Type: application/json']
  return { socket, head, began: began.promise, over: over.promise, callerLeft: () => callerLeft }
}

describe('a caller that leaves', () => {
  it.each([
    ['half of its body was sent', BODY.slice(0, 5)],
    ['its whole body was sent', BODY],
  ])('before its body was read ends the request, even if %s', async (_name, sent) => {
    const handle = vi.fn<Route['handle']>()
    const { socket, head, began, over } = await givenRoute(handle, (callerLeft) => callerLeft)
    socket.write([...head, `Content-Length: ${BODY.length}`, '', sent].join('\r\n'))
    await began
    socket.destroy()
    await over
    expect(handle).not.toHaveBeenCalled()
  })

  it('before its answer was written gets no confirmation of a form that it never received', async () => {
    const afterwards = vi.fn<() => Promise<void>>(async () => undefined)
    const reached = Promise.withResolvers<void>()
    const handle = async () => {
      reached.resolve()
      await given.callerLeft()
      return { outcome: 'answered', status: 200, body: {} } as const
    }
    const given = await givenRoute(handle, undefined, afterwards)
    given.socket.write([...given.head, `Content-Length: ${BODY.length}`, '', BODY].join('\r\n'))
    await reached.promise
    given.socket.destroy()
    await given.over
    expect(afterwards).not.toHaveBeenCalled()
  })
})
