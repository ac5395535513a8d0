import { eventually } from '@nextvisit/testing/black-box'
import { type Call, type Caller, callersOf } from './caller.ts'
import { REQUESTS, type RaceFamily, USERS } from './race-families.ts'
import type { RaceFault } from './race-faults.ts'
import type { RaceStack } from './race-stack.ts'
import { organizationOf } from './race-workspace.ts'

/** One race: the requests for one limit during one fault. */
export interface Race {
  readonly organization: string
  readonly family: RaceFamily
  readonly fault: RaceFault
  readonly calls: readonly Call[]
  /** Sends the next request of the sequence. */
  readonly sendNext: () => Promise<Call>
}

interface Runner {
  readonly organization: string
  readonly family: RaceFamily
  readonly calls: Call[]
  readonly send: (sequence: number) => Promise<void>
  readonly prepare: () => Promise<void>
}

/** Runs one race per limit. Half of the requests are sent before the fault, half after it. */
export async function runRace(stack: RaceStack, fault: RaceFault, families: readonly RaceFamily[]): Promise<Race[]> {
  const runners = families.map((family) => createRunner(stack, fault, family))
  await Promise.all(runners.map(({ prepare }) => prepare()))

  if (fault.when === 'start') await fault.strike(stack)
  const early: Promise<unknown>[] = []
  for (const runner of runners) {
    const half = sendAll(runner, 0, REQUESTS / 2)
    early.push(half)
    await Promise.race([half, eventually(async () => isTimeFor(fault, runner), Boolean, 10_000, 2)])
  }
  if (fault.when === 'first answers') await fault.strike(stack)
  // One limit after the other: a slow machine would refuse most requests as busy if all were sent at once.
  for (const runner of runners) {
    if (fault.when === 'limits reached') await fault.strike(stack)
    await sendAll(runner, REQUESTS / 2, REQUESTS)
  }
  await Promise.all(early)
  await fault.heal?.(stack)
  await stack.untilReady()

  return runners.map(({ organization, family, calls, send }) => ({
    organization,
    family,
    fault,
    calls,
    sendNext: async () => {
      await send(calls.length)
      return calls.at(-1) as Call
    },
  }))
}

function createRunner(stack: RaceStack, fault: RaceFault, family: RaceFamily): Runner {
  const organization = organizationOf(fault.id, family.id)
  const callerOf = callersOf(stack.gatewayUrls, organization)
  const calls: Call[] = []
  const send = async (sequence: number) => {
    calls.push(await callerOf(sequence)(family.route, family.bodyOf(sequence)))
  }
  return {
    organization,
    family,
    calls,
    send,
    // Identify through the other gateway, so that the gateway in the race has not cached the user.
    prepare: async () => {
      if (family.route !== 'track-event') return
      const users = Array.from({ length: USERS }, (_, user) => user)
      await Promise.all(users.map((user) => identify(callerOf(user + 1), `user-${user}`)))
      if (family.isNameKnown) await send(0)
    },
  }
}

/** Identifies a user. Retries, because the previous race may have killed the gateway and its connections. */
function identify(call: Caller, userName: string): Promise<Call> {
  return eventually(
    () => call('identify-user', { userName }),
    ({ status }) => status === 200,
    30_000,
  )
}

const sendAll = ({ send }: Runner, from: number, to: number) =>
  Promise.all(Array.from({ length: to - from }, (_, index) => send(from + index)))

/** Returns true when the next race may start, or, after the last race, when the fault may strike. */
function isTimeFor({ when }: RaceFault, { calls, family }: Runner): boolean {
  if (when === 'start') return true
  if (when === 'first answers') return calls.length > 0
  return calls.filter(({ status = 0 }) => status >= 200 && status < 300).length >= family.passesAtLimit
}
