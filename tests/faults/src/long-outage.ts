import { setTimeout as sleep } from 'node:timers/promises'
import { runPacedLoad } from '@nextvisit/testing/black-box'
import type { Fault, Stage } from './fault.ts'
import { growthMb, heldMemory, type Held } from './memory.ts'

/** Long enough for what piles up to show, once the services have made themselves at home in it. */
export const OUTAGE_MS = 20_000
const SETTLED_AFTER_MS = 4_000

const MOST_OPEN = 200
const HEAVY_USERS = 12
/** About 50 KB: what waits somewhere must weigh something. */
const HISTORY = Array.from({ length: 100 }, (_, visit) => `visit ${visit} `.padEnd(500, 'x'))

/** A part is away for long, under heavy requests, so many a second; no service may hold more and more meanwhile. */
export function longOutage(inject: Fault['inject'], perSecond: number): Fault['inject'] {
  return async (stage) => {
    const injected = await inject(stage)
    const stopping = new AbortController()
    const load = runPacedLoad(perSecond, stopping.signal, (sequence) => sendHeavy(stage, sequence), MOST_OPEN)
    await sleep(SETTLED_AFTER_MS)
    const early = await heldMemory(stage.stack)
    let late: Held = new Map()
    return {
      ...injected,
      lastsMs: OUTAGE_MS - SETTLED_AFTER_MS,
      heal: async () => {
        late = await heldMemory(stage.stack)
        stopping.abort()
        await injected.heal()
      },
      witness: async () => {
        await load
        return growthMb(early, late) === undefined ? undefined : injected.witness()
      },
      measured: () => ({ growthMb: growthMb(early, late) }),
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
