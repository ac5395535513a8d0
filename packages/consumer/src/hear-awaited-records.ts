import { AWAITED_RECORDS_CHANNEL, AwaitedRecord } from '@nextvisit/contracts'
import { hearChannel, type Logger, type RedisConnection } from '@nextvisit/service-kit'

/** Passes on the records that gateways name on {@link AWAITED_RECORDS_CHANNEL}, from now on (see `hearChannel`). */
export function hearAwaitedRecords(
  subscriber: RedisConnection['client'],
  onMessage: (record: AwaitedRecord) => void,
  logger: Logger,
): void {
  const warning = 'Cannot hear which records callers wait for: replies come later'
  hearChannel(subscriber, { channel: AWAITED_RECORDS_CHANNEL, schema: AwaitedRecord, onMessage, warning, logger })
}
