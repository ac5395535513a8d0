import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Message, Producer } from 'kafkajs'
import type { Client } from 'pg'
import { eventually, withProducer } from '@nextvisit/testing/black-box'
import { type CampaignStack, CONSUMER_NAMES } from './campaign-stack.ts'
import { type Fault, type Injected, nothingToHeal } from './fault.ts'
import { kafkaOf, USER_EVENTS } from './kafka-of.ts'
import { connectTo, queryRows } from './query-rows.ts'
import { readMessages, type StoredMessage } from './read-messages.ts'

const headers = { 'schema-version': '1', 'content-type': 'application/json' }
const fact = (members: object) => JSON.stringify({ type: 'EventTracked', id: randomUUID(), ...members })

/** One record of each kind of poison. */
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

/** Returns true for a record with an idempotency key. */
const isKeyed = (value: Buffer): boolean => value.includes('"keyed":true')

const LETTERS = 'SELECT count(*)::int AS letters FROM dead_letters'
async function lettersOf(stack: CampaignStack): Promise<number[]> {
  const counts = await Promise.all(
    CONSUMER_NAMES.map((consumer) => queryRows<{ letters: number }>(stack, consumer, LETTERS)),
  )
  return counts.map(([row]) => row?.letters ?? 0)
}

/** Publishes every kind of poison record, one after the other, each followed by a good record. */
const poison: Fault['inject'] = async ({ stack, random }) => {
  const before = await lettersOf(stack)
  const good = await readMessages(stack, isKeyed, 10)
  const readers = await Promise.all(CONSUMER_NAMES.map((consumer) => connectTo(stack, consumer)))
  const heldUpMs = await withProducer(stack, async (producer) => {
    const all: number[] = []
    for (const message of POISON) all.push(await holdUp(readers, producer, message, random.oneOf(good)))
    return all
  })
  await Promise.all(readers.map((reader) => reader.end()))
  const areDeadLettered = (now: readonly number[]): boolean =>
    now.every((letters, consumer) => letters - (before[consumer] ?? 0) >= POISON.length)
  const after = await eventually(() => lettersOf(stack), areDeadLettered, 30_000)
  return {
    lastsMs: 0,
    heal: nothingToHeal,
    witness: async () =>
      areDeadLettered(after)
        ? `${POISON.length} dead letters in each of ${CONSUMER_NAMES.length} consumers`
        : undefined,
    measured: () => ({ heldUpMs: Math.max(...heldUpMs) }),
  }
}

/**
 * Measures the time from the append of a poison record until every consumer has committed the good record after it.
 * The good record is a duplicate of one in the log, so it changes nothing.
 */
async function holdUp(
  readers: readonly Client[],
  producer: Producer,
  bad: Message,
  good: StoredMessage,
): Promise<number> {
  const { partition } = good
  const appendedAt = performance.now()
  const messages = [{ ...bad, key: randomUUID(), partition }, good]
  const [appended] = await producer.send({ topic: USER_EVENTS, messages })
  const behind = Number(appended?.baseOffset) + 1
  await eventually(
    () => nextOffsetsOf(readers, partition),
    (offsets) => offsets.every((next) => next > behind),
    30_000,
    20,
  )
  return performance.now() - appendedAt
}

/** Reads the next offset of each consumer, on open connections: opening one costs more than the fold. */
async function nextOffsetsOf(readers: readonly Client[], partition: number): Promise<number[]> {
  const sql = `SELECT next_offset AS next FROM checkpoints WHERE topic = '${USER_EVENTS}' AND partition = ${partition}`
  const results = await Promise.all(readers.map((reader) => reader.query<{ next: string }>(sql)))
  return results.map(({ rows: [row] }) => Number(row?.next ?? 0))
}

/** Publishes the first hundred idempotent records again, unchanged. */
const publishAgain: Fault['inject'] = async ({ stack }) => {
  const messages = await readMessages(stack, isKeyed, 100)
  await withProducer(stack, (producer) => producer.send({ topic: USER_EVENTS, messages }))
  return {
    lastsMs: 0,
    heal: nothingToHeal,
    witness: async () => (messages.length > 0 ? `${messages.length} records published again` : undefined),
  }
}

const REBALANCE_EVERY_MS = 3_000
const ROUNDS = 3

/** Another client repeatedly joins a consumer's group, gets partitions, folds nothing and leaves. */
const rebalance: Fault['inject'] = async ({ stack, random }): Promise<Injected> => {
  const groupId = `nextvisit.${random.oneOf(CONSUMER_NAMES)}`
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
  // `heal` awaits the loop and reports its error. Until then the rejection must not count as unhandled.
  joining.catch(() => {})
  return {
    lastsMs: ROUNDS * 2 * REBALANCE_EVERY_MS,
    heal: () => joining,
    witness: async () => (joined > 0 ? `${groupId} was rebalanced ${2 * joined} times` : undefined),
  }
}

export const logFaults: readonly Fault[] = [
  { name: 'poison records', family: 'poison', isShort: true, inject: poison },
  { name: 'duplicate publication', family: 'duplicates', inject: publishAgain },
  { name: 'a rebalance every 3 s', family: 'rebalance', inject: rebalance },
]
