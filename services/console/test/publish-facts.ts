import { encodeRecord, type FormFact, type UserFact } from '@nextvisit/contracts'
import { createPublisher, type LogConnection } from '@nextvisit/log'
import type { DataKey } from '@nextvisit/sealing'

interface PublishOptions {
  readonly partition?: number
  /** Seals personal members. Required if a fact has any. */
  readonly key?: DataKey
}

/** Publishes facts to one partition of a topic, in their order. Rejects unless all of them are in the log. */
export async function publishFacts(
  connection: LogConnection,
  topic: string,
  facts: readonly (UserFact | FormFact)[],
  { partition = 0, key }: PublishOptions = {},
): Promise<void> {
  // A busy machine must not decide whether a spec passes.
  const publisher = createPublisher(connection, { requestTimeoutMs: 20_000 })
  await publisher.start()
  const deadlineAt = performance.now() + 60_000
  const published = await Promise.all(
    facts.map((fact) => {
      const record = encodeRecord(fact, {
        source: 'spec',
        time: '2026-11-23T03:00:00.000Z',
        ...(key && { seal: (text: string, context: string) => ({ key: key.id, bytes: key.seal(text, context) }) }),
      })
      return publisher.publish({ topic, partition, key: fact.userId, ...record }, deadlineAt)
    }),
  )
  await publisher.stop(1_000)
  const failed = published.find(({ outcome }) => outcome !== 'published')
  if (failed) throw new Error(`A record was not published: ${failed.outcome}`)
}
