import type { WorkParts } from '@nextvisit/consumer'

const PUBLISH_WITHIN_MS = 5_000

/** A record of the topic of keys: a wrapped key, or null for a tombstone. */
interface KeyValue {
  readonly name: string
  readonly value: string | null
}

/** Publishes records of one partition of `topic` together. Throws {@link KeysUnpublishedError} unless all are in the log. */
export async function publishKeys(
  { publisher, topic }: Pick<WorkParts, 'publisher'> & { readonly topic: string },
  partition: number,
  values: readonly KeyValue[],
  failure: { readonly code: string; readonly message: string },
): Promise<void> {
  if (!publisher || values.length === 0) return
  const deadlineAt = performance.now() + PUBLISH_WITHIN_MS
  const outcomes = await Promise.all(
    values.map(({ name, value }) => publisher.publish({ topic, partition, key: name, value, headers: {} }, deadlineAt)),
  )
  const failed = outcomes.find(({ outcome }) => outcome !== 'published')
  if (failed) throw new KeysUnpublishedError(failure.code, failure.message, failed)
}

/** The next round tries again. */
class KeysUnpublishedError extends Error {
  override readonly name = 'KeysUnpublishedError'
  readonly retryable = true
  readonly code: string

  constructor(code: string, message: string, outcome: object) {
    super(message, { cause: outcome })
    this.code = code
  }
}
