/**
 * A minimal reference server for the gateway. It looks up a key in a map, parses, checks two fields, publishes a tracked
 * event with `acks=all`, waits and answers. It has no limits, users, names or forms. `limit` is close to the best that Node
 * can do: node:http, the fastest Kafka client, and one produce request at a time with all pending messages. `usual` is a
 * common implementation: Express, and one kafkajs send per request.
 */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ProduceAcks, Producer, stringSerializers } from '@platformatic/kafka'
import express from 'express'
import { Kafka, logLevel } from 'kafkajs'
import { readReferenceConfig } from './config.ts'

const config = readReferenceConfig()
const { brokers, topic } = config
const keys = new Map([[config.key, 'project']])

interface Message {
  readonly key: string
  readonly value: string
  readonly headers: Readonly<Record<string, string>>
}

/** Publishes a message. Resolves once the log has it. */
type Publish = (message: Message) => Promise<void>

interface Answer {
  readonly status: number
  readonly body: object
}

async function track(publish: Publish, key: unknown, body: { userName?: unknown; eventName?: unknown }) {
  if (typeof key !== 'string' || !keys.has(key)) return { status: 401, body: { message: 'Invalid key' } }
  const { userName, eventName } = body
  if (typeof userName !== 'string' || typeof eventName !== 'string')
    return { status: 400, body: { message: 'Bad body' } }
  const id = randomUUID()
  const value = JSON.stringify({ id, userName, eventName, received: new Date().toISOString() })
  await publish({ key: userName, value, headers: { id } })
  return { status: 202, body: { requestId: id } } satisfies Answer
}

/** Publishes with one request to Kafka at a time. Messages that arrive meanwhile are sent with the next. */
function publishInBatches(): Publish {
  const producer = new Producer({ clientId: 'reference', bootstrapBrokers: brokers, serializers: stringSerializers })
  let waiting: { readonly message: Message; readonly settle: PromiseWithResolvers<void> }[] = []
  let isSending = false
  const sendAll = async (): Promise<void> => {
    isSending = true
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      const messages = batch.map(({ message }) => ({ topic, ...message }))
      await producer.send({ messages, acks: ProduceAcks.ALL }).then(
        () => batch.forEach(({ settle }) => settle.resolve()),
        (error: unknown) => batch.forEach(({ settle }) => settle.reject(error)),
      )
    }
    isSending = false
  }
  return (message) => {
    const settle = Promise.withResolvers<void>()
    waiting.push({ message, settle })
    if (!isSending) queueMicrotask(() => !isSending && void sendAll())
    return settle.promise
  }
}

function overHttp(publish: Publish): RequestListener {
  const answer = async (request: IncomingMessage, response: ServerResponse, text: string): Promise<void> => {
    const body = JSON.parse(text) as object
    const { status, body: answered } = await track(publish, request.headers['x-api-key'], body)
    const bytes = JSON.stringify(answered)
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length }).end(bytes)
  }
  return (request, response) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', (part: string) => (text += part))
    request.on('end', () => void answer(request, response, text))
  }
}

async function overExpress(): Promise<RequestListener> {
  const producer = new Kafka({ clientId: 'reference', brokers, logLevel: logLevel.WARN }).producer()
  await producer.connect()
  const publish: Publish = async (message) => {
    await producer.send({ topic, acks: -1, messages: [{ ...message }] })
  }
  const app = express()
  app.post('/v2/admin/track-event', express.json({ limit: '100kb' }), async (request, response) => {
    const { status, body } = await track(publish, request.headers['x-api-key'], request.body as object)
    response.status(status).json(body)
  })
  return app
}

const server = createServer(config.kind === 'usual' ? await overExpress() : overHttp(publishInBatches()))
// The server ends when the benchmark ends, for any reason.
process.on('disconnect', () => process.exit(0))
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
