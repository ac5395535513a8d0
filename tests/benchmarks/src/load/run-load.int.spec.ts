import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { requestBytes } from './request-bytes.ts'
import { runLoad } from './run-load.ts'

/** Starts a server on this machine; `connections` counts its connections. */
async function givenServer(listener: RequestListener) {
  const server = createServer(listener)
  const opened = { connections: 0 }
  server.on('connection', () => (opened.connections += 1))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const request = requestBytes({ url, route: '/track', apiKey: 'key', body: { userName: 'Zoë' } })
  return { url, opened, next: () => request }
}

it('a load sends the prepared request over persistent connections and counts the answers', async () => {
  const bodies = new Set<string>()
  const { url, opened, next } = await givenServer((request, response) => {
    request.setEncoding('utf8')
    request.on('data', (text: string) => bodies.add(`${request.url} ${text}`))
    request.on('end', () => response.writeHead(202, { 'Content-Length': 2 }).end('{}'))
  })
  const answers: string[] = []
  const onAnswer = ({ body }: { body: string }) => void answers.push(body)
  const result = await runLoad({ url, next, seconds: 1, connections: 3, onAnswer })
  expect(result.answered).toBeGreaterThan(3)
  expect(result.failed).toBe(0)
  expect(answers).toEqual(Array.from({ length: result.answered }, () => '{}'))
  expect(opened.connections).toBe(3)
  expect([...bodies]).toEqual(['/track {"userName":"Zoë"}'])
  expect(result.p99Ms).toBeGreaterThanOrEqual(result.p50Ms)
})

it('a load keeps the rate with slow answers, and counts requests waiting for a connection', async () => {
  const { url, next } = await givenServer((_request, response) => {
    setTimeout(() => response.writeHead(202, { 'Content-Length': 0 }).end(), 100)
  })
  const one = await runLoad({ url, next, seconds: 1, perSecond: 40, connections: 1 })
  expect(one.failed).toBeGreaterThan(0)
  expect(one.p99Ms).toBeGreaterThan(200)
  const many = await runLoad({ url, next, seconds: 1, perSecond: 40 })
  expect(many.failed).toBe(0)
  expect(many.answered).toBeGreaterThan(one.answered)
})

it('a load counts refusals and broken connections as failed, and reconnects', async () => {
  let requests = 0
  const { url, next } = await givenServer((request, response) => {
    requests += 1
    if (requests % 2 === 0) request.socket.destroy()
    else response.writeHead(503, { 'Content-Length': 0 }).end()
  })
  const result = await runLoad({ url, next, seconds: 1, connections: 2 })
  expect(result).toMatchObject({ answered: 0, failed: requests })
  expect(requests).toBeGreaterThan(4)
})
