import { consumerFaults } from './consumer-faults.ts'
import { erasureFaults } from './erasure-faults.ts'
import type { Fault } from './fault.ts'
import { hostileCallers } from './hostile-callers.ts'
import { hostileRecords } from './hostile-records.ts'
import { leasedRoomFaults } from './leased-room-faults.ts'
import { logFaults } from './log-faults.ts'
import { networkFaults } from './network-faults.ts'
import { postgresFaults } from './postgres-faults.ts'
import { processFaults } from './process-faults.ts'
import { redisFaults } from './redis-faults.ts'

/** Every fault of the campaign. */
export const FAULTS: readonly Fault[] = [
  ...processFaults,
  ...consumerFaults,
  ...networkFaults,
  ...redisFaults,
  ...postgresFaults,
  ...logFaults,
  ...hostileCallers,
  ...hostileRecords,
  ...leasedRoomFaults,
  ...erasureFaults,
]

/** The faults that `pnpm test` runs, too. */
export const SHORT_FAULTS: readonly Fault[] = FAULTS.filter(({ isShort }) => isShort)
