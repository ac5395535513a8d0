import { AWAITED_RECORDS_CHANNEL, AwaitedRecord } from '@nextvisit/contracts'
import type { Logger, RedisConnection } from '@nextvisit/service-kit'

/**
 * Passes on the records that gateways name on {@link AWAITED_RECORDS_CHANNEL}, from now on. `subscriber` is a connection of
 * its own, not started yet: one that subscribes takes no other commands.
 */
export function hearAwaitedRecords(
  subscriber: RedisConnection['client'],
  onAwaited: (record: AwaitedRecord) => void,
  logger: Logger,
): void {
  const listen = async (): Promise<void> => {
    try {
      await subscriber.subscribe(AWAITED_RECORDS_CHANNEL)
    } catch (err) {
      logger.warn({ err }, 'Cannot hear which records callers wait for: replies come later')
    }
  }
  subscriber.on('ready', () => void listen())
  subscriber.on('message', (_channel, text) => {
    const record = parse(text)
    if (record) onAwaited(record)
  })
}

function parse(text: string): AwaitedRecord | undefined {
  try {
    return AwaitedRecord.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
