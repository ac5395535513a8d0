import { produceApiKey } from '@nextvisit/testing'
import type { RaceStack } from './race-stack.ts'

/** A fault during a race. */
export interface RaceFault {
  readonly id: string
  readonly what: string
  /**
   * `start`: armed before the race. `first answers`: while most requests are open. `limits reached`: when all room is used,
   * and again before each further limit's second half, because killed services restart.
   */
  readonly when: 'start' | 'first answers' | 'limits reached'
  readonly strike: (stack: RaceStack) => Promise<void> | void
  readonly heal?: (stack: RaceStack) => Promise<void> | void
  /** A value that changes when the fault has struck. Only for faults with no other proof. */
  readonly witness?: (stack: RaceStack) => number | undefined
  /** The fault resets the gateway's counters. */
  readonly restartsGateway?: true
  /** The gateway does not check limits during the fault, and marks the records. */
  readonly leavesUnchecked?: true
}

const LOST_RESPONSES = 3
const pidOf =
  (name: string) =>
  ({ processes }: RaceStack) =>
    processes().get(name)?.pid

/** The first ones leave reservations behind, which services drop after a minute, while the other faults strike. */
export const FAULTS: readonly RaceFault[] = [
  {
    id: 'gateway-killed',
    what: 'gateway killed between ack and answer',
    when: 'start',
    strike: ({ proxy, kill }) =>
      proxy.onResponse(({ apiKey }) => {
        if (apiKey !== produceApiKey) return 'pass'
        kill('gateway-2', 'SIGKILL')
        return 'lose'
      }),
    heal: ({ proxy }) => proxy.onResponse(() => 'pass'),
    witness: pidOf('gateway-2'),
    restartsGateway: true,
  },
  {
    id: 'lost-responses',
    what: 'produce responses lost',
    when: 'start',
    strike: ({ proxy }) => {
      const before = proxy.struck().lost
      proxy.onResponse(({ apiKey }) =>
        apiKey === produceApiKey && proxy.struck().lost - before < LOST_RESPONSES ? 'lose' : 'pass',
      )
    },
    heal: ({ proxy }) => proxy.onResponse(() => 'pass'),
    witness: ({ proxy }) => proxy.struck().lost,
  },
  {
    id: 'services-killed',
    what: 'admission services killed',
    when: 'limits reached',
    strike: ({ killAdmissionServices }) => killAdmissionServices(),
    witness: pidOf('metering-2'),
    leavesUnchecked: true,
  },
  {
    id: 'services-frozen',
    what: 'admission services frozen',
    when: 'limits reached',
    strike: ({ signalAdmissionServices }) => signalAdmissionServices('SIGSTOP'),
    heal: ({ signalAdmissionServices }) => signalAdmissionServices('SIGCONT'),
    leavesUnchecked: true,
  },
  { id: 'none', what: '', when: 'first answers', strike: () => undefined },
  {
    id: 'redis-emptied',
    what: 'Redis emptied',
    when: 'first answers',
    strike: async ({ redis }) => void (await redis.flushall()),
  },
  {
    id: 'redis-restarted',
    what: 'Redis killed and restarted',
    when: 'first answers',
    strike: ({ kill }) => kill('redis', 'SIGKILL'),
    witness: pidOf('redis'),
  },
  {
    id: 'redis-replaced',
    what: 'Redis replaced by an empty one',
    when: 'first answers',
    // The first step also empties Redis' data on disk.
    strike: async ({ redis, kill }) => {
      await redis.flushall()
      kill('redis', 'SIGKILL')
    },
    witness: pidOf('redis'),
  },
]
