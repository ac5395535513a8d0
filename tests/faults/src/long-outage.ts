import { setTimeout as sleep } from 'node:timers/promises'
import { runPacedLoad } from '@nextvisit/testing/black-box'
import type { Fault, FaultContext } from './fault.ts'
import { growthMb, measureMemory, type MemoryUse } from './memory.ts'

/** Long enough to reveal growing memory, after the services have settled in the outage. */
export const OUTAGE_MS = 20_000
const SETTLED_AFTER_MS = 4_000

const MOST_OPEN = 200
const HEAVY_USERS = 12
/** About 50 KB, so that waiting requests use measurable memory. */
const HISTORY = Array.from({ length: 100 }, (_, visit) => `visit ${visit} `.padEnd(500, 'x'))

/** Injects a long outage of one part under `perSecond` large requests per second. No service's memory may keep growing. */
export function longOutage(inject: Fault['inject'], perSecond: number): Fault['inject'] {
  return async (context) => {
    const injected = await inject(context)
    const stopping = new AbortController()
    const load = runPacedLoad(perSecond, stopping.signal, (sequence) => sendHeavy(context, sequence), MOST_OPEN)
    await sleep(SETTLED_AFTER_MS)
    const early = await measureMemory(context.stack)
    let late: MemoryUse = new Map()
    return {
      ...injected,
      lastsMs: OUTAGE_MS - SETTLED_AFTER_MS,
      heal: async () => {
        late = await measureMemory(context.stack)
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

/** Sends a large request of a separate user, so that the users of other requests stay small. */
async function sendHeavy({ stack, client }: FaultContext, sequence: number): Promise<void> {
  const [project] = stack.projects
  if (!project) throw new Error('The stack has no projects')
  const body = { userName: `heavy-${sequence % HEAVY_USERS}`, userAttributes: { $set: { history: HISTORY } } }
  await client.send(project, { route: '/v2/admin/identify-user', body })
}
