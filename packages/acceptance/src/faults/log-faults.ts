import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Kafka, logLevel, type Message } from 'kafkajs'
import { eventually } from '../stack.ts'
import { type CampaignStack, CONSUMERS } from './campaign-stack.ts'
import { type Fault, type Injected, nothingToHeal } from './fault.ts'
import { queryRows } from './query-rows.ts'

const USER_EVENTS = 'user-events'
const PARTITIONS = 12

/** By a client of its own, which shares no code with ours. */
const kafkaOf = ({ brokers }: CampaignStack): Kafka =>
  new Kafka({ clientId: 'faults', brokers: [...brokers], logLevel: logLevel.NOTHING })

async function publish(stack: CampaignStack, messages: readonly Message[]): Promise<void> {
  const producer = kafkaOf(stack).producer({ allowAutoTopicCreation: false })
  await producer.connect()
  // One at a time: two of a megabyte are too much for a request.
  for (const message of messages) await producer.send({ topic: USER_EVENTS, messages: [message] })
  await producer.disconnect()
}

const headers = { 'schema-version': '1', 'content-type': 'application/json' }
const fact = (members: object) => JSON.stringify({ type: 'EventTracked', id: randomUUID(), ...members })

/** Each kind of record that no consumer can read. */
const POISON: readonly Message[] = [
  { value: '{"type": "EventTracked", ', headers },
  { value: Buffer.from([0xff, 0xfe, 0x00]), headers },
  { value: fact({}), headers: { ...headers, 'schema-version': '99' } },
  { value: fact({ userName: 'a\u0000b' }), headers },
  { value: fact({ userName: '\ud800' }), headers },
  { value: fact({ padding: 'x'.repeat(1_000_000) }), headers },
  { value: null, headers },
  { value: JSON.stringify({ type: 'Surprise', id: randomUUID() }), headers },
  { value: fact({}) },
  { value: '['.repeat(50_000), headers },
]

const LETTERS = 'SELECT count(*)::int AS letters FROM dead_letters'
async function lettersOf(stack: CampaignStack): Promise<number[]> {
  const counts = await Promise.all(
    CONSUMERS.map((consumer) => queryRows<{ letters: number }>(stack, consumer, LETTERS)),
  )
  return counts.map(([row]) => row?.letters ?? 0)
}

/** Every kind into some partition each. How long they hold it up is told by the witness. */
const poison: Fault['inject'] = async ({ stack, random }) => {
  const before = await lettersOf(stack)
  const publishedAt = performance.now()
  await publish(
    stack,
    POISON.map((message) => ({ ...message, key: randomUUID(), partition: random.between(0, PARTITIONS - 1) })),
  )
  const arePutAside = (now: readonly number[]): boolean =>
    now.every((letters, consumer) => letters - (before[consumer] ?? 0) >= POISON.length)
  const after = await eventually(() => lettersOf(stack), arePutAside, 30_000)
  const tookMs = Math.round(performance.now() - publishedAt)
  return {
    lastsMs: 0,
    heal: nothingToHeal,
    witness: async () =>
      arePutAside(after)
        ? `${POISON.length} put aside by ${CONSUMERS.length} consumers within ${tookMs} ms`
        : undefined,
  }
}

/** Reads the first few hundred keyed records, and publishes each of them once more as it is. */
const publishAgain: Fault['inject'] = async ({ stack }) => {
  const copies = await readKeyed(stack, 200)
  if (copies.length > 0) await publish(stack, copies)
  return {
    lastsMs: 0,
    heal: nothingToHeal,
    witness: async () => (copies.length > 0 ? `${copies.length} records published again` : undefined),
  }
}

async function readKeyed(stack: CampaignStack, atMost: number): Promise<Message[]> {
  const keyed: Message[] = []
  const consumer = kafkaOf(stack).consumer({ groupId: `faults-${randomUUID()}`, maxWaitTimeInMs: 100 })
  await consumer.connect()
  await consumer.subscribe({ topic: USER_EVENTS, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message: { key, value, headers: given } }) => {
      if (value?.includes('"keyed":true')) keyed.push({ partition, key, value, ...(given && { headers: given }) })
    },
  })
  await eventually(
    async () => keyed.length,
    (length) => length >= atMost,
    8_000,
  )
  await consumer.disconnect()
  return keyed.slice(0, atMost)
}

const REBALANCE_EVERY_MS = 3_000
const ROUNDS = 4

/** A stranger joins a consumer's group, is given partitions, folds nothing, and leaves, again and again. */
const rebalance: Fault['inject'] = async ({ stack, random }): Promise<Injected> => {
  const groupId = `nextvisit.${random.oneOf(CONSUMERS)}`
  let joined = 0
  const join = async (): Promise<void> => {
    for (let round = 0; round < ROUNDS; round++) {
      const stranger = kafkaOf(stack).consumer({ groupId, sessionTimeout: 10_000 })
      stranger.on(stranger.events.GROUP_JOIN, () => void (joined += 1))
      await stranger.connect()
      await stranger.subscribe({ topic: USER_EVENTS })
      await stranger.run({ autoCommit: false, eachBatch: async () => {} })
      await sleep(REBALANCE_EVERY_MS)
      await stranger.disconnect()
      await sleep(REBALANCE_EVERY_MS)
    }
  }
  const joining = join()
  return {
    lastsMs: ROUNDS * 2 * REBALANCE_EVERY_MS,
    heal: () => joining,
    witness: async () => (joined > 0 ? `${groupId} was dealt out anew ${2 * joined} times` : undefined),
  }
}

export const logFaults: readonly Fault[] = [
  { name: 'poison records', isShort: true, inject: poison },
  { name: 'duplicate publication', isShort: true, inject: publishAgain },
  { name: 'a rebalance every 3 s', inject: rebalance },
]
