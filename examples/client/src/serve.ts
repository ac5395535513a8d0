/** Back end of a shop. It reports sign-ups and purchases in the background, so that customers never wait for it. */
import { createServer } from 'node:http'
import { type CallItem, createNextvisit, type NextvisitError, type Refusal } from '@nextvisit/client'
import { readConfig } from './config.ts'

const { port, host, key } = readConfig()
const report = ({ message, items }: NextvisitError) => console.error(`${message}: ${JSON.stringify(items)}`)
// Logs refusals, such as 401 for a wrong key.
const reportRefusal = ({ status, message }: Refusal, { type }: CallItem) =>
  console.error(`${type}: ${status} ${message}`)
const nextvisit = createNextvisit({ host, key, onUnsent: report, onRefused: reportRefusal })

const pages: Readonly<Record<string, (query: URLSearchParams) => unknown>> = {
  'POST /sign-up': (query) => {
    const userName = query.get('user') ?? ''
    void nextvisit.identify({ userName, userAttributes: { $set: { plan: query.get('plan') } } })
    return { welcome: userName }
  },
  'POST /buy': (query) => {
    const [userName, order] = [query.get('user') ?? '', query.get('order') ?? '']
    const properties = { order, total: Number(query.get('total')) }
    // The order counts once, even if the browser repeats the request.
    const idempotencyKey = `order-${order}`
    void nextvisit.track({ userName, eventName: 'Checkout Completed', properties, idempotencyKey })
    return { thanksFor: order }
  },
  // The answer is needed here, so it is awaited.
  'GET /orders': async (query) => {
    await nextvisit.flush()
    const user = await nextvisit.users.get(query.get('user') ?? '')
    return user.status === 200 ? { orders: user.events['checkout_completed']?.count ?? 0 } : { unknown: user.message }
  },
}

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
  const page = pages[`${request.method} ${pathname}`]
  response.writeHead(page ? 200 : 404, { 'Content-Type': 'application/json' })
  void Promise.resolve(page?.(searchParams) ?? {}).then(
    (answer) => response.end(JSON.stringify(answer)),
    (error: Error) => response.end(JSON.stringify({ error: error.message })),
  )
})
server.listen(port, '127.0.0.1', () => {
  const address = server.address()
  console.log(`The example is at http://127.0.0.1:${typeof address === 'object' ? address?.port : port}`)
})

/** Stops accepting requests, and sends pending events for at most 10 s. */
process.once('SIGTERM', () => {
  server.close()
  nextvisit.close({ withinMs: 10_000 }).then(() => console.log('All events are sent'), report)
})
