/**
 * A minimal server to compare the gateway with. It looks up a key in a map, parses, checks two fields, publishes a tracked
 * event through the same batcher with `acks=all`, waits and answers. It has no limits, users, names or forms.
 */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createPublisher, partitionForKey } from '@nextvisit/log'
import express from 'express'
import { readReferenceConfig } from './config.ts'

const PARTITIONS = 12
const config = readReferenceConfig()
const keys = new Map([[config.key, 'project']])
const publisher = createPublisher({ brokers: config.brokers, clientId: 'reference' })

interface Answer {
  readonly status: number
  readonly body: object
}

async function track(key: unknown, body: { userName?: unknown; eventName?: unknown }): Promise<Answer> {
  if (typeof key !== 'string' || !keys.has(key)) return { status: 401, body: { message: 'Invalid key' } }
  const { userName, eventName } = body
  if (typeof userName !== 'string' || typeof eventName !== 'string')
    return { status: 400, body: { message: 'Bad body' } }
  const id = randomUUID()
  const value = JSON.stringify({ id, userName, eventName, received: new Date().toISOString() })
  const partition = partitionForKey(userName, PARTITIONS)
  const record = { topic: config.topic, partition, key: userName, value, headers: { id } }
  const { outcome } = await publisher.publish(record, performance.now() + 2_000)
  return { status: outcome === 'published' ? 202 : 503, body: { requestId: id, outcome } }
}

async function answerOverHttp(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { status, body } = await track(
    request.headers['x-api-key'],
    JSON.parse(Buffer.concat(chunks).toString()) as object,
  )
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function overHttp(): RequestListener {
  return (request, response) => void answerOverHttp(request, response)
}

function overExpress(): RequestListener {
  const app = express()
  app.post('/v2/admin/track-event', express.json({ limit: '100kb' }), async (request, response) => {
    const { status, body } = await track(request.headers['x-api-key'], request.body as object)
    response.status(status).json(body)
  })
  return app
}

await publisher.start()
const server = createServer(config.kind === 'express' ? overExpress() : overHttp())
// The server ends when the benchmark ends, for any reason.
process.on('disconnect', () => process.exit(0))
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
