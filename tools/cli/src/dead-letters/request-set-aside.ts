import { setTimeout as sleep } from 'node:timers/promises'
import type { LogPosition } from '@nextvisit/contracts'
import type { ChangeEnd } from '@nextvisit/operator-changes'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import { consumers } from '@nextvisit/services'
import { recordChange } from '../changes/record-change.ts'
import { operatingUser } from '../environment/config.ts'
import { consumerNamed, requireSomeConsumer } from '../environment/consumer-database.ts'
import { CliError, EXIT } from '../errors.ts'
import { complain, print } from '../output/print.ts'
import type { PartAnswer } from '../status/ask-part.ts'
import { answerOf, type DeadLetterCalls } from './ask-dead-letters.ts'
import { askEach } from './select-letters.ts'

/** The owner looks once a second, and folds again at once. */
const WAIT_MS = 20_000
const POLL_EVERY_MS = 250

const EVERY_CONSUMER = 'all'

/**
 * Requests that the record which halts a partition becomes a dead letter, in one consumer or in every one that it halts, and
 * waits for that. Throws if it halts none.
 */
export async function setAsideRecord(
  env: EnvironmentVariables,
  { service, topic, partition, offset }: Readonly<Record<'service' | 'topic' | 'partition' | 'offset', string>>,
  { wait }: { readonly wait: boolean },
): Promise<void> {
  if (topic === '' || topic.length > 249) throw new CliError(`${topic} is not a topic.`, EXIT.usage)
  if (!/^\d{1,9}$/.test(partition)) throw new CliError(`${partition} is not a partition number.`, EXIT.usage)
  if (!/^\d{1,18}$/.test(offset)) throw new CliError(`${offset} is not an offset.`, EXIT.usage)
  const position = { topic, partition: Number(partition), offset }
  if (service === EVERY_CONSUMER) requireSomeConsumer(env)
  const asked = service === EVERY_CONSUMER ? consumers : [consumerNamed(service)]
  const results = await recordChange(
    env,
    { kind: 'record.set-aside', target: `${topic}/${partition}/${offset}`, details: { consumer: service } },
    () =>
      askEach(
        env,
        asked.map((consumer) => ({ consumer })),
        async (calls, { consumer }) => setAsideIn(calls, consumer.name, position, wait),
      ),
    (answers) => endOf(answers.map(({ answer }) => answer)),
  )
  const outcomes = results.map(({ of, answer }) =>
    answer.status === 'available' ? answer : failed(`${of.consumer.name}: ${answer.because}`),
  )
  const behind = results.flatMap(({ of, answer }) =>
    answer.status === 'available' && answer.isBefore ? [of.consumer.name] : [],
  )
  for (const { isFailed, isHalted, words } of outcomes) {
    // Of several consumers, those that the record does not halt have nothing to do.
    if (!isFailed) print(words)
    else if (isHalted) complain(words)
  }
  if (outcomes.every(({ isFailed, isHalted }) => isFailed && !isHalted))
    throw new CliError(`${outcomes.map(({ words }) => words).join('\n')} Nothing was done.`)
  for (const name of behind)
    complain(
      `${name} has not passed offset ${offset} of ${topic}/${partition} yet. Repeat the command when it is halted there.`,
    )
  if (behind.length > 0 || outcomes.some(({ isFailed, isHalted }) => isFailed && isHalted))
    throw new CliError('Not every consumer has set the record aside. The command may be repeated.')
}

interface SetAside {
  readonly isFailed: boolean
  /** False if the record does not halt the consumer. */
  readonly isHalted: boolean
  /** True if the consumer has not passed the record, which may halt it later. */
  readonly isBefore: boolean
  readonly words: string
}

function endOf(answers: readonly PartAnswer<SetAside>[]): ChangeEnd {
  const isDone = answers.some((answer) => answer.status === 'available' && !answer.isFailed)
  const isRefused = answers.every((answer) => answer.status === 'available' && !answer.isHalted)
  return isDone ? { outcome: 'made' } : { outcome: isRefused ? 'refused' : 'failed', reason: 'NOT_SET_ASIDE' }
}

const done = (words: string): SetAside => ({ isFailed: false, isHalted: true, isBefore: false, words })
const failed = (words: string): SetAside => ({ isFailed: true, isHalted: true, isBefore: false, words })

async function setAsideIn(
  calls: DeadLetterCalls,
  service: string,
  position: LogPosition,
  wait: boolean,
): Promise<SetAside> {
  const { topic, partition, offset } = position
  const asked = await answerOf(calls.setAside({ ...position, by: operatingUser() }))
  if (asked.outcome === 'refused')
    return { isFailed: true, isHalted: false, isBefore: asked.isBefore ?? false, words: asked.reason }
  if (asked.outcome === 'dead-letter') return done(`The record already is the dead letter ${service}/${asked.id}.`)
  if (!wait) return done(`${service} will set aside the record at offset ${offset} of ${topic}/${partition}.`)
  const id = await awaitDeadLetter(calls, position)
  if (id !== undefined) return done(`Set aside: ${service}/${id}. The partition continues.`)
  return failed(
    `${service} has not set it aside within ${WAIT_MS / 1_000} s. Check that it is running (nextvisit status); it will then set the record aside.`,
  )
}

async function awaitDeadLetter(calls: DeadLetterCalls, position: LogPosition): Promise<string | undefined> {
  const giveUpAt = performance.now() + WAIT_MS
  for (;;) {
    const { letter } = await answerOf(calls.readAt(position))
    if (letter || performance.now() > giveUpAt) return letter?.id
    await sleep(POLL_EVERY_MS)
  }
}
