import type { Sql } from '@nextvisit/database'
import type { Draft } from './draft.ts'
import { eraseDeliveries, lockTurns } from './erase-deliveries.ts'
import { writeDeliveries } from './new-deliveries.ts'
import { positions } from './tables.ts'

/**
 * Returns the statements of a batch. Deliveries of erased users are written before they are deleted, so that a receipt counts the same rows
 * however the log is cut into batches. Senders lock turns before deliveries, too.
 */
export function saveDraft({ deliveries, erased, left }: Draft): readonly Sql[] {
  return [
    ...lockTurns(erased),
    ...writeDeliveries(deliveries),
    ...eraseDeliveries(erased),
    ...positions.update(left, ['isLive', 'nextOffset']),
  ]
}
