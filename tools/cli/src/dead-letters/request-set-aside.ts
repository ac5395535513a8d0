import { setTimeout as sleep } from 'node:timers/promises'
import type { LogPosition } from '@nextvisit/contracts'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import { operatingUser } from '../environment/config.ts'
import { consumerNamed } from '../environment/consumer-database.ts'
import { CliError, EXIT } from '../errors.ts'
import { print } from '../output/print.ts'
import { answerOf, type DeadLetterCalls, withDeadLetters } from './ask-dead-letters.ts'

/** The owner looks once a second, and folds again at once. */
const WAIT_MS = 20_000
const POLL_EVERY_MS = 250

/** Requests that the record which halts a partition becomes a dead letter, and waits for that. Throws if no record halts it. */
export async function setAsideRecord(
  env: EnvironmentVariables,
  { service, topic, partition, offset }: Readonly<Record<'service' | 'topic' | 'partition' | 'offset', string>>,
  { wait }: { readonly wait: boolean },
): Promise<void> {
  if (topic === '' || topic.length > 249) throw new CliError(`${topic} is not a topic.`, EXIT.usage)
  if (!/^\d{1,9}$/.test(partition)) throw new CliError(`${partition} is not a partition number.`, EXIT.usage)
  if (!/^\d{1,18}$/.test(offset)) throw new CliError(`${offset} is not an offset.`, EXIT.usage)
  const position = { topic, partition: Number(partition), offset }
  await withDeadLetters(env, consumerNamed(service), async (calls) => {
    const asked = await answerOf(calls.setAside({ ...position, by: operatingUser() }))
    if (asked.outcome === 'refused') throw new CliError(`${asked.reason} Nothing was done.`)
    if (asked.outcome === 'dead-letter') return print(`The record already is the dead letter ${service}/${asked.id}.`)
    print(`The record at offset ${offset} of ${topic}/${partition} will be set aside.`)
    if (!wait) return
    const id = await awaitDeadLetter(calls, position)
    if (id === undefined) {
      throw new CliError(
        `${service} has not set it aside within ${WAIT_MS / 1_000} s. Check that it is running (nextvisit status); it will then set the record aside.`,
      )
    }
    print(`Set aside: ${service}/${id}. The partition continues.`)
  })
}

async function awaitDeadLetter(calls: DeadLetterCalls, position: LogPosition): Promise<string | undefined> {
  const giveUpAt = performance.now() + WAIT_MS
  for (;;) {
    const { letter } = await answerOf(calls.readAt(position))
    if (letter || performance.now() > giveUpAt) return letter?.id
    await sleep(POLL_EVERY_MS)
  }
}
