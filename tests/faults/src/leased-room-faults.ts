import { performance } from 'node:perf_hooks'
import { eventually } from '@nextvisit/testing/black-box'
import type { CampaignProject } from './campaign-projects.ts'
import type { CampaignStack } from './campaign-stack.ts'
import { isCaughtUp } from './caught-up.ts'
import { failsOver } from './consumer-faults.ts'
import type { Fault, FaultContext } from './fault.ts'
import { isAcknowledged } from './judge-calls.ts'
import { roomOf, trackedEventsOf, untilRoomIsFree } from './leased-room.ts'
import { ends, FREEZE_MS, freezes, rollingRestart } from './process-faults.ts'
import type { RecordedCall, RecordingClient } from './recording-client.ts'
import { createTraffic, type Mix } from './traffic.ts'

/** Faults that strike while a gateway has leased room for a busy organization (decision 0017). */

/** More than twice as many as a gateway leases room for. */
const EVENTS_PER_SECOND = 200
/** Few users, so that each of their partitions is busy. */
const EVENTS: Mix = {
  users: 4,
  requestOf: (userName) => ({ route: '/v2/admin/track-event', body: { userName, eventName: 'Page viewed' } }),
}
const isBusy = (acknowledged: number): boolean => acknowledged >= EVENTS_PER_SECOND
const LEASED_WITHIN_MS = 15_000
const REFUSED_WITHIN_MS = 30_000
const FOLDED_WITHIN_MS = 30_000
const MOST_UNITS_LEFT = 1_000

/** A caller that sends many events. */
interface Busy {
  readonly project: CampaignProject
  readonly client: RecordingClient
}

const farFromLimit = ({ stack, client }: FaultContext): Busy => ({ project: stack.busy, client })

/** Strikes in the middle of a lease. The events continue until the calls are calm again. */
function whileLeased(inject: Fault['inject'], busyIn = farFromLimit): Fault['inject'] {
  return async (context) => {
    const { stack, random } = context
    const { project, client } = busyIn(context)
    const { organization } = project
    const traffic = createTraffic({ client, projects: [project], random, perSecond: EVENTS_PER_SECOND, mix: EVENTS })
    await traffic.begin()
    const callsBefore = client.calls().length
    const events = () =>
      client
        .calls()
        .slice(callsBefore)
        .filter((call) => call.organization === organization)
    traffic.start()
    try {
      await eventually(async () => events().filter(isAcknowledged).length, isBusy, LEASED_WITHIN_MS)
      // On a busy machine, the first leases may arrive too late to be used.
      await eventually(() => spentBy(stack, events(), performance.now()), Boolean, LEASED_WITHIN_MS)
      const leased = await eventually(
        async () => (await roomOf(stack, organization)).leased,
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
          const spent = await spentBy(stack, events(), struckAt)
          return struck && spent && leased > 0 ? `${struck}; ${leased} units were leased; ${spent}` : undefined
        },
        measured: async () => ({
          ...(await injected.measured?.()),
          roomFreeMs: await untilRoomIsFree(stack, organization),
        }),
      }
    } catch (error) {
      await traffic.stop()
      throw error
    }
  }
}

/** Describes how many of an organization's events used a lease. Undefined if no event answered before the fault did. */
async function spentBy(
  stack: CampaignStack,
  events: readonly RecordedCall[],
  struckAt: number,
): Promise<string | undefined> {
  const tracked = await trackedEventsOf(stack, events[0]?.organization ?? '')
  const ids = new Set(tracked.flatMap(({ id, lease }) => (lease === undefined ? [] : id)))
  const isLeased = ({ requestId = '' }: RecordedCall): boolean => ids.has(requestId)
  const early = events.filter(({ sentAt, elapsedMs }) => sentAt + elapsedMs < struckAt)
  const before = early.filter(isLeased).length
  return before > 0
    ? `${before} of ${early.length} events before, ${events.filter(isLeased).length} of ${events.length} in all used a lease`
    : undefined
}

/** The client whose calls may be refused. */
const nearLimit = ({ stack, hostile }: FaultContext): Busy => ({ project: stack.limited, client: hostile.client })

/**
 * Tracks events until the limit is reached. The lease of the killed gateway becomes free a minute later. Then there must
 * be as many events as the limit allows, plus the events that are recorded as unchecked.
 */
const reachLimit: Fault['inject'] = async (context) => {
  const { stack } = context
  const { project, client } = nearLimit(context)
  const refused = () => client.calls().filter(isRefusedFor(project)).length
  const before = refused()
  const injected = await whileLeased(ends('gateway', 'SIGKILL'), nearLimit)(context)
  return {
    ...injected,
    witness: async () => {
      const isReached = await eventually(async () => refused() > before, Boolean, REFUSED_WITHIN_MS)
      const witness = await injected.witness()
      return witness && isReached ? `${witness}; ${refused() - before} were refused` : undefined
    },
    measured: async () => {
      const measured = await injected.measured?.()
      await useUp(context)
      await requireExact(stack)
      return measured ?? {}
    },
  }
}

const isRefusedFor =
  ({ organization }: CampaignProject) =>
  (call: RecordedCall): boolean =>
    call.organization === organization && call.status === 402

/** Tracks events one by one until one is refused. Without reservations, a refusal proves that there is no room. */
async function useUp(context: FaultContext): Promise<void> {
  const { project, client } = nearLimit(context)
  for (let sent = 0; sent < MOST_UNITS_LEFT; sent += 1) {
    const { status } = await client.send(project, EVENTS.requestOf('user-0', context.random))
    if (status === 402) return
  }
  throw new Error(`${MOST_UNITS_LEFT} more events passed although the limit was reached`)
}

async function requireExact(stack: CampaignStack): Promise<void> {
  const { organization, eventsPerMonth } = stack.limited
  await eventually(() => isCaughtUp(stack), Boolean, FOLDED_WITHIN_MS)
  const { counted } = await roomOf(stack, organization)
  const tracked = await trackedEventsOf(stack, organization)
  const unchecked = tracked.filter((event) => event.unchecked.length > 0).length
  if (counted < eventsPerMonth || counted > eventsPerMonth + unchecked)
    throw new Error(`${counted} events counted under a limit of ${eventsPerMonth}, ${unchecked} of them unchecked`)
}

const leasedRoom = ({ name, inject, mayRefuse = false }: Omit<Fault, 'family'>): Fault => ({
  name: `leased room: ${name}`,
  family: 'leased room',
  mayRefuse,
  inject,
})

export const leasedRoomFaults: readonly Fault[] = [
  ...(['gateway', 'metering', 'postgres'] as const).map((name) =>
    leasedRoom({ name: `kill ${name}`, mayRefuse: true, inject: whileLeased(ends(name, 'SIGKILL')) }),
  ),
  ...(['gateway', 'metering'] as const).map((name) =>
    leasedRoom({ name: `freeze ${name}`, mayRefuse: true, inject: whileLeased(freezes(name, FREEZE_MS)) }),
  ),
  leasedRoom({ name: 'kill one of two meterings', inject: whileLeased(failsOver(['metering'])) }),
  leasedRoom({ ...rollingRestart, inject: whileLeased(rollingRestart.inject) }),
  leasedRoom({ name: 'kill gateway, then reach the limit', mayRefuse: true, inject: reachLimit }),
]
