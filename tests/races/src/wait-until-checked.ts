import { eventually, readUnchecked } from '@nextvisit/testing/black-box'
import { type Caller, callersOf } from './caller.ts'
import type { RaceStack } from './race-stack.ts'
import { PROBE } from './race-workspace.ts'

/** Waits until both gateways check every limit again. An open circuit breaker only passes occasional probes. */
export async function waitUntilChecked(stack: RaceStack): Promise<void> {
  const callerOf = callersOf(stack.gatewayUrls, PROBE)
  let probes = 0
  const isChecked = async () => {
    const before = await readUnchecked(stack.gatewayMetrics)
    const answers = await Promise.all(
      stack.gatewayUrls.map((_url, index) => probe(callerOf(index), `probe-${(probes += 1)}`)),
    )
    return answers.every((status) => status === 202) && (await readUnchecked(stack.gatewayMetrics)) === before
  }
  if (!(await eventually(isChecked, Boolean, 60_000))) throw new Error('Admission is still unchecked')
}

/** Sends a new user, trait and event, so that admission calls every service. */
async function probe(send: Caller, word: string): Promise<number | undefined> {
  await send('identify-user', { userName: word, userAttributes: { $set: { [word]: 1 } } })
  return (await send('track-event', { userName: word, eventName: word })).status
}
