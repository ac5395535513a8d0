import { setTimeout as sleep } from 'node:timers/promises'
import { consumerGroupOf } from '@nextvisit/contracts'
import { type LogConnection, withLogAdmin } from '@nextvisit/log'
import { createSharedRead } from '../shared-read.ts'

const KEPT_MS = 10_000
/** Without the number, the finding names all possible causes. */
const WAIT_MS = 1_000

/** Returns the number of processes in a consumer's group; undefined if Kafka does not answer in time. */
export type CountMembers = (service: string) => Promise<number | undefined>

/** Creates a reader of the sizes of consumer groups. Partitions without a known owner are rare, so each read connects. */
export function createCountMembers(connection: LogConnection): CountMembers {
  const reads = new Map<string, () => Promise<number>>()

  function readOf(service: string): () => Promise<number> {
    const known = reads.get(service)
    if (known) return known
    const count = async (): Promise<number> => {
      const { members } = await withLogAdmin(connection, (admin) => admin.describeGroup(consumerGroupOf(service)))
      return members.length
    }
    const read = createSharedRead(count, KEPT_MS)
    reads.set(service, read)
    return read
  }

  return (service) =>
    Promise.race([readOf(service)(), sleep(WAIT_MS, undefined, { ref: false })]).catch(() => undefined)
}
