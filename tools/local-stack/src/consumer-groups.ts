import { setTimeout as sleep } from 'node:timers/promises'
import { consumerGroupOf } from '@nextvisit/contracts'
import { type LogAdmin, type LogConnection, withLogAdmin } from '@nextvisit/log'
import { consumers } from '@nextvisit/services'
import { StackError } from './errors.ts'

const JOINED_WITHIN_MS = 60_000
const ASK_EVERY_MS = 200
const GROUPS = consumers.map(({ name }) => consumerGroupOf(name))

/**
 * Returns the member ids of the consumers' groups. Members of killed services stay until their session ends, and until then
 * new members wait for their partitions. The request also makes a new broker create its topic for groups.
 */
export async function groupMembers(connection: LogConnection): Promise<ReadonlySet<string>> {
  return withLogAdmin(connection, async (admin) => {
    const groups = await Promise.all(GROUPS.map((group) => admin.describeGroup(group))).catch((cause: unknown) => {
      throw new StackError(
        'STEP_FAILED',
        'Kafka did not describe the consumer groups; its log (kafka.log) may contain the reason.',
        { cause },
      )
    })
    return new Set(groups.flatMap(({ members }) => members.map(({ memberId }) => memberId)))
  })
}

/** Waits until every group has a new member and has assigned its partitions, so that records are folded. */
export async function waitUntilConsumed(
  connection: LogConnection,
  former: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<void> {
  await withLogAdmin(connection, async (admin) => {
    const until = performance.now() + JOINED_WITHIN_MS
    for (const group of GROUPS) {
      while (!(await isConsumed(admin, group, former))) {
        if (signal.aborted) throw new StackError('INTERRUPTED', 'Stopped before records were consumed.')
        if (performance.now() > until) throw new StackError('NOT_READY', `${group} has no consumer; see its log.`)
        await sleep(ASK_EVERY_MS)
      }
    }
  })
}

async function isConsumed(admin: LogAdmin, group: string, former: ReadonlySet<string>): Promise<boolean> {
  const { state, members } = await admin.describeGroup(group)
  return state === 'Stable' && members.some(({ memberId }) => !former.has(memberId))
}
