import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Writable } from 'node:stream'
import { EvaluatorReply, replyChannel } from '@nextvisit/contracts'
import { createLogger, createRedis, createRedisSubscriber } from '@nextvisit/service-kit'
import { afterAll, describe, expect, inject, it } from 'vitest'
import { type AddressedReply, createReplyPublisher } from './reply-publisher.ts'

const NOWHERE = 'redis://127.0.0.1:1'
const channel = replyChannel(`test-${randomUUID()}`)
const silent = createLogger('test', 'silent')
const stops: (() => unknown)[] = []
afterAll(() => Promise.all(stops.map((stop) => stop())))

function reply(formsQueued: number): AddressedReply {
  return { channel, reply: { kind: 'track', recordId: randomUUID(), formsQueued } }
}

async function publisherTo(url: string) {
  const lines: string[] = []
  const log = new Writable({
    write: (chunk, _encoding, done) => {
      lines.push(String(chunk))
      done()
    },
  })
  const redis = createRedis({ url, name: 'test-replies', logger: silent })
  stops.push(redis.stop)
  await redis.start()
  return { publish: createReplyPublisher(redis.client, createLogger('test', 'info', log)), lines }
}

describe('replies', () => {
  it('reach the subscribed gateway, in order', async () => {
    const {
      client: subscriber,
      start,
      stop,
    } = createRedisSubscriber({
      url: inject('redisUrl'),
      name: 'test-gateway',
      logger: silent,
    })
    stops.push(stop)
    await start()
    await subscriber.subscribe(channel)
    const { publish } = await publisherTo(inject('redisUrl'))
    const received: EvaluatorReply[] = []
    subscriber.on('message', (_channel, text: string) => received.push(EvaluatorReply.parse(JSON.parse(text))))
    await publish([reply(1), reply(2), reply(3)])
    while (received.length < 3) await once(subscriber, 'message')
    expect(received).toMatchObject([{ formsQueued: 1 }, { formsQueued: 2 }, { formsQueued: 3 }])
  })

  it('are lost while Redis does not answer: the log tells it once, and no batch fails', async () => {
    const { publish, lines } = await publisherTo(NOWHERE)
    await publish([reply(1), reply(2)])
    await publish([reply(3)])
    expect(lines.filter((line) => line.includes('replies are lost'))).toHaveLength(1)
  })
})
