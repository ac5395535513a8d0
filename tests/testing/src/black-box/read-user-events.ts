import { parseKeyRing, unwrapDataKey } from '@nextvisit/sealing'
import type { ThrowAwayStack } from './throw-away-stack.ts'
import { readMessages, readTopic, type TopicRecord } from './read-topic.ts'

/** Opens sealed bytes in a context. */
type Open = (bytes: string, context: string) => string | undefined

/**
 * Reads `user-events` up to its present end. Sealed members are opened, and each record has the `userName` of its user's
 * identifies.
 */
export async function readUserEvents({
  brokers,
  secretKey,
}: Pick<ThrowAwayStack, 'brokers' | 'secretKey'>): Promise<TopicRecord[]> {
  const records = await readTopic(brokers, 'user-events')
  // Read second: a key is in the log before the records that it seals.
  const keys = await readKeys(brokers, secretKey)
  const opened = records.map((record) => ({ ...record, value: openMembers(record.value, keys) }))
  const names = new Map(
    opened.map(({ value }) => [value['userId'], value['userName']] as const).filter(([, name]) => name),
  )
  return opened.map((record) => ({
    ...record,
    value: { userName: names.get(record.value['userId']), ...record.value },
  }))
}

/** Returns the keys that are not destroyed, by `userId/keyId`. */
async function readKeys(brokers: readonly string[], secretKey: string): Promise<ReadonlyMap<string, Open>> {
  const parsed = parseKeyRing(secretKey)
  if (parsed.outcome === 'invalid') throw new TypeError(parsed.reason)
  const keys = new Map<string, Open>()
  for (const { key, value } of await readMessages(brokers, 'user-keys')) {
    const name = String(key)
    const [userId = '', keyId = ''] = name.split('/')
    const unwrapped = value && unwrapDataKey(parsed.ring, { userId, keyId, wrapped: value.toString('latin1') })
    if (unwrapped?.outcome === 'unwrapped') keys.set(name, unwrapped.key.open)
    else keys.delete(name)
  }
  return keys
}

function openMembers(
  value: Readonly<Record<string, unknown>>,
  keys: ReadonlyMap<string, Open>,
): Readonly<Record<string, unknown>> {
  const { id, userId, sealed } = value as { id: string; userId: string; sealed?: { key: string; bytes: string } }
  const text = sealed && keys.get(`${userId}/${sealed.key}`)?.(sealed.bytes, `${id}/${userId}`)
  return text === undefined ? value : { ...value, ...(JSON.parse(text) as object) }
}
