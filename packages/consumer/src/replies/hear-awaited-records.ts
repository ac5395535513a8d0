import { AWAITED_RECORDS_CHANNEL, AwaitedRecord } from '@nextvisit/contracts'
import { subscribeTo, type Logger, type RedisConnection } from '@nextvisit/service-kit'

/** Calls `onMessage` for each record that a gateway names on {@link AWAITED_RECORDS_CHANNEL} (see `subscribeTo`). */
export function hearAwaitedRecords(
  subscriber: RedisConnection['client'],
  onMessage: (record: AwaitedRecord) => void,
  logger: Logger,
): void {
  const warning = 'Cannot hear which records callers wait for: replies come later'
  subscribeTo(subscriber, { channel: AWAITED_RECORDS_CHANNEL, schema: AwaitedRecord, onMessage, warning, logger })
}
