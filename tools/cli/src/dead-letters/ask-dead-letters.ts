import { answerDeadLetters, type Consumer } from '@nextvisit/consumer'
import { deadLetterCalls } from '@nextvisit/contracts'
import { queryableOn } from '@nextvisit/database'
import { createLocalClient, type CallClient, type CallOutcome, type EnvironmentVariables } from '@nextvisit/service-kit'
import { inConsumerDatabase } from '../environment/consumer-database.ts'

export type DeadLetterCalls = CallClient<typeof deadLetterCalls>

/**
 * Runs `work` with the dead-letter calls of a consumer. This process answers them from the consumer's database, so the
 * consumer may be down.
 */
export function withDeadLetters<Result>(
  env: EnvironmentVariables,
  consumer: Consumer,
  work: (calls: DeadLetterCalls) => Promise<Result>,
): Promise<Result> {
  return inConsumerDatabase(env, consumer, (client) =>
    work(createLocalClient(deadLetterCalls, answerDeadLetters(consumer.name, queryableOn(client)))),
  )
}

/** Returns the answer to a call that always has one. */
export async function answerOf<Answer>(asked: Promise<CallOutcome<Answer>>): Promise<Answer> {
  const outcome = await asked
  if (outcome.outcome === 'answered') return outcome.answer
  throw new Error(`A call in this process ended as ${outcome.outcome}`)
}
