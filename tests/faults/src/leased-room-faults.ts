import { performance } from 'node:perf_hooks'
import { eventually } from '@nextvisit/testing/black-box'
import type { CampaignStack } from './campaign-stack.ts'
import { failsOver } from './consumer-faults.ts'
import type { Fault } from './fault.ts'
import type { FaultResult } from './fault-result.ts'
import { isAcknowledged } from './judge-calls.ts'
import { ends, FREEZE_MS, freezes, rollingRestart } from './process-faults.ts'
import { queryRows } from './query-rows.ts'
import { readLog } from './read-log.ts'
import type { Call } from './recording-client.ts'
import { createTraffic, type Mix } from './traffic.ts'

/** Faults that strike while a gateway has leased room for a busy organization (docs/decisions/0017). */

/** More than twice as many as a gateway leases room for. */
const EVENTS_PER_SECOND = 200
/** A few users, so that each partition of theirs is busy. */
const EVENTS: Mix = {
  users: 4,
  requestOf: (userName) => ({ route: '/v2/admin/track-event', body: { userName, eventName: 'Page viewed' } }),
}
const ACKNOWLEDGED_BEFORE = EVENTS_PER_SECOND
const LEASED_WITHIN_MS = 15_000
/** What nobody folds or gives back is dropped after a minute, at the next tick. */
const FREE_WITHIN_MS = 90_000

/** Strikes in the middle of a lease. The events continue until the calls are calm again. */
function whileLeased({ name, inject, mayRefuse = false }: Omit<Fault, 'family'>): Fault {
  return {
    name: `leased room: ${name}`,
    family: 'leased room',
    mayRefuse,
    inject: async (context) => {
      const { stack, client, random } = context
      const traffic = createTraffic({
        client,
        projects: [stack.busy],
        random,
        perSecond: EVENTS_PER_SECOND,
        mix: EVENTS,
      })
      const isOfBusy = ({ organization }: Call): boolean => organization === stack.busy.organization
      await traffic.begin()
      const callsBefore = client.calls().length
      const events = () => client.calls().slice(callsBefore).filter(isOfBusy)
      traffic.start()
      try {
        const isAtWork = () => events().filter(isAcknowledged).length >= ACKNOWLEDGED_BEFORE
        const leased = await eventually(
          async () => (isAtWork() ? (await heldRoomOf(stack)).leased : 0),
          (units) => units > 0,
          LEASED_WITHIN_MS,
          5,
        )
        const struckAt = performance.now()
        const injected = await inject(context)
        return {
          ...injected,
          witness: async () => {
            await traffic.stop()
            const struck = await injected.witness()
            const spent = await spentIn(stack, events(), struckAt)
            return struck && spent && leased > 0 ? `${struck}; ${leased} units were leased; ${spent}` : undefined
          },
          measured: async () => ({ ...(await injected.measured?.()), roomFreeMs: await roomFreeMs(stack) }),
        }
      } catch (error) {
        await traffic.stop()
        throw error
      }
    },
  }
}

/** Units that are reserved for the busy organization: by all rows, by the rows of leases, and by the sum in its counters. */
interface HeldRoom {
  readonly held: number
  readonly leased: number
  readonly counted: number
}

/** Throws if Postgres is unavailable. */
async function heldRoomOf(stack: CampaignStack): Promise<HeldRoom> {
  const of = `WHERE organization = '${stack.busy.organization}'`
  const [row] = await queryRows<HeldRoom>(
    stack,
    'metering',
    `SELECT
       (SELECT coalesce(sum(units), 0)::int FROM reservations ${of}) AS held,
       (SELECT coalesce(sum(units), 0)::int FROM reservations ${of} AND holders = '{}') AS leased,
       (SELECT coalesce(sum(units), 0)::int FROM reserved_room ${of})
         - (SELECT coalesce(sum(fulfilled), 0)::int FROM counters ${of}) AS counted`,
  )
  if (!row) throw new Error('Metering answered no row')
  return row
}

/** How many of the events used a lease, and how many of those that were answered before the fault; undefined if none of these did. */
async function spentIn(stack: CampaignStack, events: readonly Call[], struckAt: number): Promise<string | undefined> {
  const ofBusy = `"organization":"${stack.busy.organization}"`
  const records = await readLog(stack, (value) => value.includes('"lease":"') && value.includes(ofBusy))
  const ids = new Set(records.map(({ value }) => (JSON.parse(String(value)) as { readonly id: string }).id))
  const isLeased = ({ requestId = '' }: Call): boolean => ids.has(requestId)
  const early = events.filter(({ sentAt, elapsedMs }) => sentAt + elapsedMs < struckAt)
  const before = early.filter(isLeased).length
  return before > 0
    ? `${before} of ${early.length} events before, ${events.filter(isLeased).length} of ${events.length} in all used a lease`
    : undefined
}

async function roomFreeMs(stack: CampaignStack): Promise<FaultResult['roomFreeMs']> {
  const restedAt = performance.now()
  await eventually(
    () => heldRoomOf(stack),
    ({ held, counted }) => held === 0 && counted === 0,
    FREE_WITHIN_MS,
  )
  return performance.now() - restedAt
}

export const leasedRoomFaults: readonly Fault[] = [
  ...(['gateway', 'metering', 'postgres'] as const).map((name) =>
    whileLeased({ name: `kill ${name}`, mayRefuse: true, inject: ends(name, 'SIGKILL') }),
  ),
  ...(['gateway', 'metering'] as const).map((name) =>
    whileLeased({ name: `freeze ${name}`, mayRefuse: true, inject: freezes(name, FREEZE_MS) }),
  ),
  whileLeased({ name: 'kill one of two meterings', inject: failsOver(['metering']) }),
  whileLeased(rollingRestart),
]
