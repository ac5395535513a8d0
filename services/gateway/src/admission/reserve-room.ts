import { type CounterKind, MONTHLY_LIMITS } from '@nextvisit/contracts'
import { monthOf } from '@nextvisit/domain'
import { type Refusal, REFUSALS, refuse } from '../refusals/refusals.ts'
import { type ItemToAdmit, type Passed, recordRefOf } from './admission.ts'
import type { Metering } from './metering.ts'
import { type Release, verdictAfter } from './verdicts.ts'

interface Room extends Passed {
  readonly acquired: readonly Release[]
  /** The lease that the room is a unit of. */
  readonly lease?: string
}

/** The room of a record that counts against no limit. */
export const NO_ROOM_NEEDED: Room = { outcome: 'passed', unchecked: [], acquired: [] }

/** The cap on the name of an event. A record that it refuses takes no room. */
interface NameCap {
  readonly isReached: () => Promise<boolean>
  readonly refusal: Refusal
}

interface RoomOptions {
  readonly received: string
  /** True if a service did not answer an earlier check. */
  readonly isServiceSilent?: boolean
  readonly nameCap?: NameCap
}

/** Reserves room for a record under a monthly limit, if the plan sets it. */
export async function reserveRoom(
  metering: Metering,
  kind: CounterKind,
  item: ItemToAdmit<unknown>,
  { received, isServiceSilent = false, nameCap }: RoomOptions,
): Promise<Room | Refusal> {
  const { request, user } = item
  const { name, unit, unchecked, refusal } = MONTHLY_LIMITS[kind]
  const limit = request.project.plan[name]
  if (limit === undefined) return NO_ROOM_NEEDED
  const reservation = {
    kind,
    ...recordRefOf(item),
    ...(unit === 'user' && { userId: user.userId }),
    month: monthOf(received),
    limit,
  }
  const { lease, release, ...reserved } =
    metering.take(reservation) ??
    (await metering.reserve(reservation, request.admissionDeadlineAt, {
      isRefusedByCap: nameCap?.isReached,
      traceparent: request.traceparent,
    }))
  const verdict = verdictAfter(isServiceSilent, reserved.verdict)
  if (nameCap && verdict === 'room') return nameCap.refusal
  if (verdict === 'no-room') return refuse(REFUSALS[refusal])
  if (verdict === 'crowded') return refuse(REFUSALS.busy)
  return {
    outcome: 'passed',
    unchecked: verdict === 'unchecked' ? [unchecked] : [],
    acquired: [release],
    ...(lease !== undefined && { lease }),
  }
}
