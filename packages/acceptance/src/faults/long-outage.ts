import { runPacedLoad } from '../paced-load.ts'
import type { Fault, Stage } from './fault.ts'
import { watchMemory } from './memory.ts'

/** Long enough for what piles up to show. */
export const OUTAGE_MS = 20_000

const MOST_OPEN = 200
const HEAVY_USERS = 12
/** About 50 KB: what waits somewhere must weigh something. */
const HISTORY = Array.from({ length: 100 }, (_, visit) => `visit ${visit} `.padEnd(500, 'x'))

/** A part is away for long, under heavy requests, so many a second; the services' memory is watched meanwhile. */
export function longOutage(inject: Fault['inject'], perSecond: number): Fault['inject'] {
  return async (stage) => {
    const stopping = new AbortController()
    const load = runPacedLoad(perSecond, stopping.signal, (sequence) => sendHeavy(stage, sequence), MOST_OPEN)
    const injected = await inject(stage)
    const memory = await watchMemory(stage.stack)
    let growthMb: number | undefined
    return {
      ...injected,
      heal: async () => {
        try {
          growthMb = await memory.stop()
        } finally {
          stopping.abort()
          await injected.heal()
          await load
        }
      },
      measured: () => ({ growthMb }),
    }
  }
}

/** Of users of their own: those of the other requests stay light. */
async function sendHeavy({ stack, callers }: Stage, sequence: number): Promise<void> {
  const [customer] = stack.customers
  if (!customer) throw new Error('The stack has no customers')
  const body = { userName: `heavy-${sequence % HEAVY_USERS}`, userAttributes: { $set: { history: HISTORY } } }
  await callers.send(customer, { route: '/v2/admin/identify-user', body })
}
