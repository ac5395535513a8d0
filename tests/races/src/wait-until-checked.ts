import { createCallerLedger, eventually } from '@nextvisit/testing/black-box'
import type { RaceStack } from './race-stack.ts'
import { keyOf, PROBE } from './race-workspace.ts'

/** The gateways' counters of unchecked records: one for each check that was not made. */
export async function uncheckedByMetrics({ gatewayMetrics }: RaceStack): Promise<number> {
  const texts = await Promise.all(gatewayMetrics.map(async (url) => (await fetch(url)).text()))
  const counts = texts.flatMap((text) => [...text.matchAll(/^nextvisit_gateway_unchecked_total\{.*\} (\d+)$/gm)])
  return counts.reduce((sum, [, count]) => sum + Number(count), 0)
}

/** Waits until both gateways check every limit again. An open breaker lets a call through only from time to time. */
export async function waitUntilChecked(stack: RaceStack): Promise<void> {
  let probes = 0
  const isChecked = async () => {
    const before = await uncheckedByMetrics(stack)
    const answers = await Promise.all(stack.gatewayUrls.map((url) => probe(url, `probe-${(probes += 1)}`)))
    return answers.every((status) => status === 202) && (await uncheckedByMetrics(stack)) === before
  }
  if (!(await eventually(isChecked, Boolean, 60_000))) throw new Error('Admission is still unchecked')
}

/** Sends a new user, trait and event, so that admission asks every service. */
async function probe(gatewayUrl: string, word: string): Promise<number | undefined> {
  const { send } = createCallerLedger(gatewayUrl, keyOf(PROBE))
  await send('identify-user', { userName: word, userAttributes: { $set: { [word]: 1 } } })
  return (await send('track-event', { userName: word, eventName: word })).status
}
